// SPDX-License-Identifier: Apache-2.0
#include "examples/story/decoder.h"

#include <cmath>

#include "millrace/graph/composites.h"

namespace story {

using namespace millrace;

namespace {

class Decoder {
 public:
  explicit Decoder(const Checkpoint& weights)
      : weights_(weights),
        sizes_(weights.sizes),
        seen_(Dim("seen").at_least(1).at_most(weights.sizes.context)),
        token_(graph_.input("token", DType::kI64, {})),
        position_(size_of(graph_, seen_) - 1),
        keys_(cache("keys")),
        values_(cache("values")) {}

  Result<Graph> build() {
    const std::int64_t dim = sizes_.dim;
    make_angles();
    Tensor all_keys = keys_, all_values = values_;
    Tensor x = reshape(gather(constant(weights_.embedding, {sizes_.vocabulary, dim}), token_, 0), {1, dim});
    for (std::int64_t layer = 0; layer < sizes_.layers; ++layer) {
      x = x + attend(rms_norm(x, of_layer(weights_.attention_norm, layer, {dim})), layer, all_keys, all_values);
      x = x + feed(rms_norm(x, of_layer(weights_.feed_norm, layer, {dim})), layer);
    }
    graph_.update(keys_, all_keys);
    graph_.update(values_, all_values);
    x = rms_norm(x, constant(weights_.final_norm, {dim}));
    const Tensor logits = linear(x, constant(weights_.classifier, {sizes_.vocabulary, dim}));
    graph_.output("next", reshape(topk(logits, 1).indices, {}));
    return graph_.finish();
  }

 private:
  Tensor cache(std::string name) {
    const Shape shape{sizes_.layers, sizes_.kv_heads, sizes_.context, sizes_.head_size()};
    return graph_.variable(std::move(name), {DType::kF32, shape});
  }

  Tensor constant(const SharedBytes& bytes, Shape shape) {
    return graph_.constant_shared({DType::kF32, std::move(shape)}, bytes);
  }
  /// One layer's part of the weights.
  Tensor of_layer(const SharedBytes& bytes, std::int64_t layer, Shape shape) {
    const std::size_t size = bytes.size() / static_cast<std::size_t>(sizes_.layers);
    return constant(bytes.part(size * static_cast<std::size_t>(layer), size), std::move(shape));
  }
  /// x[1, k] and weights[n, k] -> [1, n].
  static Tensor linear(Tensor x, Tensor weights) { return matmul(x, transpose(weights, {1, 0})); }

  /// The cosines and sines by which this position's queries and keys are rotated: [1, head_size / 2].
  void make_angles() {
    const std::int64_t pairs = sizes_.head_size() / 2;
    std::vector<float> cosines, sines;
    for (std::int64_t position = 0; position < sizes_.context; ++position) {
      for (std::int64_t pair = 0; pair < pairs; ++pair) {
        const float frequency =
            1.0f / std::pow(10000.0f, static_cast<float>(2 * pair) / static_cast<float>(sizes_.head_size()));
        cosines.push_back(std::cos(static_cast<float>(position) * frequency));
        sines.push_back(std::sin(static_cast<float>(position) * frequency));
      }
    }
    const Tensor row = reshape(position_, {1});
    cosine_ = gather(graph_.constant({sizes_.context, pairs}, cosines), row, 0);
    sine_ = gather(graph_.constant({sizes_.context, pairs}, sines), row, 0);
  }

  /// Writes this position's row of each head of a layer. Returns the cache with these rows.
  Tensor store(Tensor cache, std::int64_t layer, Tensor rows) {
    const Shape shape = cache.shape();
    const std::int64_t heads = sizes_.kv_heads, context = sizes_.context;
    const Tensor flat = reshape(cache, {sizes_.layers * heads * context, sizes_.head_size()});
    const Tensor places = iota(graph_, DType::kI64, {heads}, 0) * context + layer * heads * context + position_;
    return reshape(scatter(flat, places, rows, 0), shape);
  }

  Tensor attend(Tensor x, std::int64_t layer, Tensor& all_keys, Tensor& all_values) {
    const std::int64_t dim = sizes_.dim, size = sizes_.head_size(), kv_heads = sizes_.kv_heads;
    Tensor query = linear(x, of_layer(weights_.query, layer, {dim, dim}));
    Tensor key = linear(x, of_layer(weights_.key, layer, {kv_heads * size, dim}));
    const Tensor value = linear(x, of_layer(weights_.value, layer, {kv_heads * size, dim}));
    query = rotary_embedding(reshape(query, {sizes_.heads, 1, size}), cosine_, sine_, /*interleaved=*/true);
    key = rotary_embedding(reshape(key, {kv_heads, 1, size}), cosine_, sine_, /*interleaved=*/true);
    all_keys = store(all_keys, layer, reshape(key, {kv_heads, size}));
    all_values = store(all_values, layer, reshape(value, {kv_heads, size}));
    const auto of_all = [&](Tensor all) { return slice(all, {layer, 0, 0, 0}, {layer + 1, kv_heads, seen_, size}); };
    // The query heads that share one head of keys and values become the rows of one product.
    query = reshape(query, {1, kv_heads, sizes_.heads / kv_heads, size});
    const Tensor seen = attention(query, of_all(all_keys), of_all(all_values));
    return linear(reshape(seen, {1, dim}), of_layer(weights_.attention_out, layer, {dim, dim}));
  }

  Tensor feed(Tensor x, std::int64_t layer) {
    const std::int64_t dim = sizes_.dim, hidden = sizes_.hidden;
    const Tensor gate = linear(x, of_layer(weights_.gate, layer, {hidden, dim}));
    const Tensor up = linear(x, of_layer(weights_.up, layer, {hidden, dim}));
    return linear(silu(gate) * up, of_layer(weights_.down, layer, {dim, hidden}));
  }

  const Checkpoint& weights_;
  const Sizes& sizes_;
  GraphBuilder graph_{"decoder"};
  SizeExpr seen_;  // the number of positions that the query sees, including its own
  Tensor token_, position_, keys_, values_, cosine_, sine_;
};

}  // namespace

Result<Graph> build_decoder(const Checkpoint& weights) { return Decoder(weights).build(); }

}  // namespace story
