// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/composites/composite.h"

namespace millrace {
namespace {

/// Aligns dims at the last one; where two differ, takes the one that is not 1. broadcast rejects operands that do not
/// fit.
Shape joint_shape(std::initializer_list<Tensor> tensors) {
  std::size_t rank = 0;
  for (const Tensor& tensor : tensors) rank = std::max(rank, tensor.shape().rank());
  std::vector<SizeExpr> dims(rank, 1);
  for (const Tensor& tensor : tensors) {
    const Shape& shape = tensor.shape();
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      SizeExpr& dim = dims[rank - shape.rank() + d];
      if (dim.is(1)) dim = shape[d];
    }
  }
  return Shape(std::move(dims));
}

}  // namespace

Tensor where(Tensor condition, Tensor if_true, Tensor if_false) try {
  const Shape shape = joint_shape({condition, if_true, if_false});
  Tensor choice = broadcast_to(condition, shape);
  Tensor chosen = broadcast_to(if_true, shape);
  return select(choice, chosen, broadcast_to(if_false, shape));
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({condition, if_true, if_false}), "where");
}

}  // namespace millrace
