// SPDX-License-Identifier: Apache-2.0
// NumPy's broadcasting rule, for elementwise functions and composites.
#include <algorithm>

#include "graph/composites/composite.h"

namespace millrace {

std::optional<Shape> joint_shape(std::span<const Shape> shapes) {
  std::size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.rank());
  std::vector<SizeExpr> dims(rank, 1);
  for (const Shape& shape : shapes) {
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      SizeExpr& dim = dims[rank - shape.rank() + d];
      if (dim == shape[d] || shape[d].is(1)) continue;
      if (!dim.is(1)) return std::nullopt;
      dim = shape[d];
    }
  }
  return Shape(std::move(dims));
}

}  // namespace millrace
