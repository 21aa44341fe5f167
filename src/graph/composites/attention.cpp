// SPDX-License-Identifier: Apache-2.0
// Attention with masks and grouped heads, and rotary embeddings, as composites of dots and a softmax.
#include <array>
#include <cmath>
#include <limits>

#include "graph/composites/composite.h"
#include "graph/composites/index.h"
#include "ops/infer.h"

namespace millrace {
namespace {

/// Applies the mask: a bool mask sets scores to -inf where it is false, a numeric mask is added to the scores.
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

/// Repeats each head in dim -3 so that there are `num_heads`: one key or value head serves a group of adjacent query
/// heads.
Tensor serve_groups(Tensor x, const SizeExpr& num_heads) {
  const Shape shape = x.shape();
  const std::size_t dim = shape.rank() - 3;
  std::vector<SizeExpr> dims = shape.dims(), joined = shape.dims();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(dim) + 1, num_heads.constant() / shape[dim].constant());
  joined[dim] = num_heads;
  std::vector<std::int64_t> kept;
  for (std::size_t d = 0; d < shape.rank(); ++d) kept.push_back(static_cast<std::int64_t>(d > dim ? d + 1 : d));
  return reshape(broadcast(x, Shape(std::move(dims)), std::move(kept)), Shape(std::move(joined)));
}

/// Checks key or value against the query: the ranks and batch dims must be equal, but the query may have a multiple of
/// the heads.
Status check_matches_query(std::string_view what, const TensorType& x, const TensorType& query) {
  const std::size_t rank = query.shape.rank();
  if (x.dtype != query.dtype && x.dtype != wide_dtype(query.dtype)) {
    return invalid_argument(
        fmt::format("query is {} and {} is {}, expected one dtype; cast one", query.to_text(), what, x.to_text()));
  }
  if (x.shape.rank() != rank || rank < 2) {
    return invalid_argument(
        fmt::format("query is {} and {} is {}, expected equal ranks of at least 2; reshape or "
                    "broadcast one",
                    query.to_text(), what, x.to_text()));
  }
  for (std::size_t d = 0; d + 3 < rank; ++d) {
    if (x.shape[d] == query.shape[d]) continue;
    return invalid_argument(
        fmt::format("query is {} and {} is {}, expected equal extents in dim {}; reshape or "
                    "broadcast one",
                    query.to_text(), what, x.to_text(), d));
  }
  if (rank < 3 || x.shape[rank - 3] == query.shape[rank - 3]) return {};
  const SizeExpr &heads = x.shape[rank - 3], &all = query.shape[rank - 3];
  const bool divides =
      heads.is_constant() && all.is_constant() && heads.constant() >= 1 && all.constant() % heads.constant() == 0;
  if (divides) return {};
  return invalid_argument(
      fmt::format("{} is {} with {} heads in dim {}, expected a divisor of the query's {} heads; "
                  "reshape or broadcast it",
                  what, x.to_text(), heads.to_text(), rank - 3, all.to_text()));
}

/// `types`: query, key, value and, if given, the mask.
Status check_attention(std::span<const TensorType> types, bool has_scale) {
  const TensorType &query = types[0], &key = types[1], &value = types[2];
  MILLRACE_TRY(ops::expect_dtype(types, 0, ops::kFloats));
  MILLRACE_TRY(check_matches_query("key", key, query));
  MILLRACE_TRY(check_matches_query("value", value, query));
  const std::size_t rank = query.shape.rank();
  const SizeExpr& depth = query.shape[rank - 1];
  if (key.shape[rank - 1] != depth) {
    return invalid_argument(fmt::format("query is {} and key is {}, expected equal last dims; reshape one",
                                        query.to_text(), key.to_text()));
  }
  if (value.shape[rank - 2] != key.shape[rank - 2]) {
    return invalid_argument(
        fmt::format("key is {} and value is {}, expected equal extents in dim {}, one value for "
                    "each key; reshape one",
                    key.to_text(), value.to_text(), rank - 2));
  }
  if (!has_scale && !depth.is_constant()) {
    return invalid_argument(
        fmt::format("query is {}, expected a last dim that is a number; give a scale", query.to_text()));
  }
  if (types.size() < 4) return {};
  TensorType scores{query.dtype, query.shape};
  scores.shape[rank - 1] = key.shape[rank - 2];
  const TensorType& mask = types[3];
  const Shape shapes[] = {scores.shape, mask.shape};
  const bool has_dtype =
      mask.dtype == DType::kBool || mask.dtype == query.dtype || mask.dtype == wide_dtype(query.dtype);
  if (has_dtype && joint_shape(shapes) == scores.shape) return {};
  return invalid_argument(
      fmt::format("mask is {}, expected bool or {} that broadcasts to the scores, {}; reshape or "
                  "cast it",
                  mask.to_text(), to_text(query.dtype), scores.to_text()));
}

}  // namespace

Tensor attention(Tensor query, Tensor key, Tensor value, Tensor mask, std::optional<double> scale) {
  return attention(query, key, value, AttentionOptions{.mask = mask, .scale = scale});
}

Tensor attention(Tensor query, Tensor key, Tensor value, AttentionOptions options) {
  const Tensor all[] = {query, key, value, options.mask};
  const std::span operands(all, options.mask.builder() != nullptr ? 4 : 3);
  return build_composite(operands, [&](Composite& composite) -> Tensor {
    if (!composite.passes(check_attention(composite.types(), options.scale.has_value()))) return {};
    GraphBuilder& graph = *query.builder();
    const Shape shape = query.shape();
    const std::size_t rank = shape.rank();
    const SizeExpr depth = shape.dims().back();
    const DType dtype = query.dtype();
    query = widen(query, dtype);
    key = widen(key, dtype);
    value = widen(value, dtype);
    for (Tensor* each : {&key, &value}) {
      if (rank >= 3 && each->shape()[rank - 3] != shape[rank - 3]) *each = serve_groups(*each, shape[rank - 3]);
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
  });
}

Tensor rotary_embedding(Tensor x, Tensor cosine, Tensor sine, bool interleaved) {
  return build_composite({x, cosine, sine}, [&](Composite& composite) -> Tensor {
    const Shape shape = x.shape();
    const std::size_t rank = shape.rank();
    if (rank < 1 || shape[rank - 1].known_multiple() % 2 != 0) {
      return composite.refuse(
          fmt::format("operand is {}, expected a last dim that is even; pad it", x.type().to_text()));
    }
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kFloats))) return {};
    std::vector<SizeExpr> pairs(shape.dims().begin(), shape.dims().end());
    pairs.back() = floor_div(shape[rank - 1], 2);
    for (const Tensor& angle : {cosine, sine}) {
      const Shape shapes[] = {Shape(pairs), angle.shape()};
      const bool has_dtype = angle.dtype() == x.dtype() || angle.dtype() == wide_dtype(x.dtype());
      if (has_dtype && joint_shape(shapes) == Shape(pairs)) continue;
      return composite.refuse(
          fmt::format("operand is {} and an angle's cosine or sine {}, expected {} or a shape that broadcasts to it; "
                      "reshape or cast it",
                      x.type().to_text(), angle.type().to_text(), TensorType{x.dtype(), Shape(pairs)}.to_text()));
    }
    const DType dtype = x.dtype();
    // Reshapes x to pairs: [..., 2, d / 2] if a pair's elements are d / 2 apart, [..., d / 2, 2] if they are adjacent.
    const std::int64_t pair_axis = interleaved ? -1 : -2;
    std::vector<SizeExpr> dims(shape.dims().begin(), shape.dims().end() - 1);
    dims.push_back(floor_div(shape[rank - 1], 2));
    dims.insert(interleaved ? dims.end() : dims.end() - 1, 2);
    // A pair (a, b) becomes (a * cosine - b * sine, b * cosine + a * sine). The gather swaps a and b, so that one pass
    // computes the whole result.
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
  });
}

}  // namespace millrace
