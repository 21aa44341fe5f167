// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "graph/composites/composite.h"

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

}  // namespace

Tensor attention(Tensor query, Tensor key, Tensor value, Tensor mask, std::optional<double> scale) try {
  if (!query.is_valid() || !key.is_valid() || !value.is_valid()) return {};
  GraphBuilder& graph = *query.builder();
  const auto rank = static_cast<std::int64_t>(query.shape().rank());
  if (rank < 2 || key.shape().rank() != query.shape().rank()) {
    return refuse(graph, "attention",
                  fmt::format("query is {} and key is {}, expected equal ranks of at least 2; reshape or broadcast one",
                              query.type().to_text(), key.type().to_text()));
  }
  const SizeExpr depth = query.shape().dims().back();
  if (!scale && !depth.is_constant()) {
    return refuse(
        graph, "attention",
        fmt::format("query is {}, expected a last dim that is a number; give a scale", query.type().to_text()));
  }
  const DType dtype = query.dtype();
  query = widen(query, dtype);
  key = widen(key, dtype);
  DotAttrs attributes;
  for (std::int64_t d = 0; d < rank - 2; ++d) {
    attributes.x_batch.push_back(d);
    attributes.y_batch.push_back(d);
  }
  attributes.x_contract = attributes.y_contract = {rank - 1};
  Tensor scores =
      dot(query, key, std::move(attributes)) * (scale ? *scale : 1 / std::sqrt(static_cast<double>(depth.constant())));
  if (mask.is_valid()) scores = masked(scores, widen(mask, dtype));
  Tensor weights = softmax(scores);
  return narrow(matmul(weights, widen(value, dtype)), dtype);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({query, key, value, mask}), "attention");
}

}  // namespace millrace
