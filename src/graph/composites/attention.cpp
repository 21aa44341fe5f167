// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <limits>

#include "graph/composites/composite.h"
#include "graph/composites/index.h"

namespace millrace {
namespace {

/// Sets scores to -inf where a bool mask is false, and adds a numeric mask.
Tensor masked(Tensor scores, Tensor mask) {
  if (!scores.is_valid()) return {};
  Tensor spread = broadcast_to(mask, scores.shape());
  if (mask.dtype() != DType::kBool) return scores + spread;
  const double none = -std::numeric_limits<double>::infinity();
  return select(spread, scores, scores.builder()->fill(scores.dtype(), scores.shape(), none));
}

/// bool[m, n]: whether query i sees key j.
Tensor causal_mask(GraphBuilder& graph, const SizeExpr& m, const SizeExpr& n) {
  Tensor row = positions(graph, {m, n}, 0);
  Tensor newest = row + size_of(graph, n - m);
  return less_equal(positions(graph, {m, n}, 1), newest);
}

/// Repeats each head of dim -3 until there are `num_heads`, for groups of neighbouring query heads.
Tensor serve_groups(Tensor x, const SizeExpr& num_heads) {
  const Shape shape = x.shape();
  const std::size_t dim = shape.rank() - 3;
  const SizeExpr heads = shape[dim];
  if (!heads.is_constant() || !num_heads.is_constant() || heads.constant() < 1 ||
      num_heads.constant() % heads.constant() != 0) {
    return refuse(
        *x.builder(), "attention",
        fmt::format("{} heads in dim {} of {}, expected a number that divides the {} of the query; reshape or "
                    "broadcast one",
                    heads.to_text(), dim, x.type().to_text(), num_heads.to_text()));
  }
  std::vector<SizeExpr> dims = shape.dims(), joined = shape.dims();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(dim) + 1, num_heads.constant() / heads.constant());
  joined[dim] = num_heads;
  std::vector<std::int64_t> kept;
  for (std::size_t d = 0; d < shape.rank(); ++d) kept.push_back(static_cast<std::int64_t>(d > dim ? d + 1 : d));
  return reshape(broadcast(x, Shape(std::move(dims)), std::move(kept)), Shape(std::move(joined)));
}

}  // namespace

Tensor attention(Tensor query, Tensor key, Tensor value, Tensor mask, std::optional<double> scale) {
  return attention(query, key, value, AttentionOptions{.mask = mask, .scale = scale});
}

Tensor attention(Tensor query, Tensor key, Tensor value, AttentionOptions options) try {
  if (!query.is_valid() || !key.is_valid() || !value.is_valid()) return {};
  GraphBuilder& graph = *query.builder();
  const Shape shape = query.shape();
  const std::size_t rank = shape.rank();
  if (rank >= 3 && value.shape().rank() != rank) {
    return refuse(graph, "attention",
                  fmt::format("query is {} and value is {}, expected equal ranks; reshape or broadcast one",
                              query.type().to_text(), value.type().to_text()));
  }
  if (rank < 2 || key.shape().rank() != rank) {
    return refuse(graph, "attention",
                  fmt::format("query is {} and key is {}, expected equal ranks of at least 2; reshape or broadcast one",
                              query.type().to_text(), key.type().to_text()));
  }
  const SizeExpr depth = shape.dims().back();
  if (!options.scale && !depth.is_constant()) {
    return refuse(
        graph, "attention",
        fmt::format("query is {}, expected a last dim that is a number; give a scale", query.type().to_text()));
  }
  const DType dtype = query.dtype();
  query = widen(query, dtype);
  key = widen(key, dtype);
  value = widen(value, dtype);
  for (Tensor* each : {&key, &value}) {
    if (rank >= 3 && each->shape()[rank - 3] != shape[rank - 3]) *each = serve_groups(*each, shape[rank - 3]);
    if (!each->is_valid()) return {};
  }
  DotAttrs attributes;
  for (std::size_t d = 0; d < rank - 2; ++d) attributes.x_batch.push_back(static_cast<std::int64_t>(d));
  attributes.y_batch = attributes.x_batch;
  attributes.x_contract = attributes.y_contract = {static_cast<std::int64_t>(rank) - 1};
  Tensor scores = dot(query, key, std::move(attributes)) *
                  (options.scale ? *options.scale : 1 / std::sqrt(static_cast<double>(depth.constant())));
  if (options.mask.is_valid()) scores = masked(scores, widen(options.mask, dtype));
  if (options.is_causal) scores = masked(scores, causal_mask(graph, shape[rank - 2], key.shape()[rank - 2]));
  Tensor weights = softmax(scores);
  return narrow(matmul(weights, value), dtype);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({query, key, value, options.mask}), "attention");
}

Tensor rotary_embedding(Tensor x, Tensor cosine, Tensor sine, bool interleaved) try {
  if (!x.is_valid() || !cosine.is_valid() || !sine.is_valid()) return {};
  const Shape shape = x.shape();
  const std::size_t rank = shape.rank();
  if (rank < 1 || shape[rank - 1].known_multiple() % 2 != 0) {
    return refuse(*x.builder(), "rotary_embedding",
                  fmt::format("operand is {}, expected a last dim that is even; pad it", x.type().to_text()));
  }
  std::vector<SizeExpr> pairs(shape.dims().begin(), shape.dims().end());
  pairs.back() = floor_div(shape[rank - 1], 2);
  for (const Tensor& angle : {cosine, sine}) {
    const Shape shapes[] = {Shape(pairs), angle.shape()};
    if (joint_shape(shapes) == Shape(pairs)) continue;
    return refuse(*x.builder(), "rotary_embedding",
                  fmt::format("operand is {} and an angle's cosine or sine {}, expected {} or what broadcasts to that; "
                              "reshape it",
                              x.type().to_text(), angle.type().to_text(), Shape(pairs).to_text()));
  }
  const DType dtype = x.dtype();
  // Halves are [..., 2, d / 2], neighbours [..., d / 2, 2].
  const std::int64_t pair_axis = interleaved ? -1 : -2;
  std::vector<SizeExpr> dims(shape.dims().begin(), shape.dims().end() - 1);
  dims.push_back(floor_div(shape[rank - 1], 2));
  dims.insert(interleaved ? dims.end() : dims.end() - 1, 2);
  // a * cosine - b * sine, then b * cosine + a * sine: each number, and the other of its pair, in one pass.
  GraphBuilder& graph = *x.builder();
  x = reshape(x, Shape(std::move(dims)));
  const Tensor other = gather(x, graph.constant({2}, std::array<std::int64_t, 2>{1, 0}), pair_axis);
  cosine = unsqueeze(widen(cosine, dtype), {pair_axis});
  sine = unsqueeze(widen(sine, dtype), {pair_axis});
  Tensor sign = cast(graph.constant({2}, std::array<float, 2>{-1, 1}), sine.dtype());
  if (!interleaved) sign = unsqueeze(sign, {-1});
  Tensor rotated = widen(x, dtype) * cosine;
  rotated += widen(other, dtype) * (sine * sign);
  return narrow(reshape(rotated, shape), dtype);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x, cosine, sine}), "rotary_embedding");
}

}  // namespace millrace
