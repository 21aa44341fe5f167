// SPDX-License-Identifier: Apache-2.0
// Index tensors that several composites compute before they gather or scatter.
#include "graph/composites/index.h"

namespace millrace {

Tensor positions(GraphBuilder& graph, const Shape& shape, std::size_t axis) {
  return broadcast(iota(graph, DType::kI64, {shape[axis]}, 0), shape, {static_cast<std::int64_t>(axis)});
}

Tensor or_outside(Tensor is_inside, Tensor index, const SizeExpr& extent) {
  if (!index.is_valid()) return {};
  return select(is_inside, index, broadcast_to(size_of(*index.builder(), extent), index.shape()));
}

Tensor scatter_by(ScatterReduction reduction, Tensor x, Tensor indices, Tensor updates, std::int64_t axis) {
  switch (reduction) {
    case ScatterReduction::kAdd:
      return scatter_add(x, indices, updates, axis);
    case ScatterReduction::kMul:
      return scatter_mul(x, indices, updates, axis);
    case ScatterReduction::kMin:
      return scatter_min(x, indices, updates, axis);
    case ScatterReduction::kMax:
      return scatter_max(x, indices, updates, axis);
    case ScatterReduction::kReplace:
      break;
  }
  return scatter(x, indices, updates, axis);
}

}  // namespace millrace
