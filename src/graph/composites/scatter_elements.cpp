// SPDX-License-Identifier: Apache-2.0
// scatter_elements, as a scatter into x reshaped to a vector.
#include "graph/composites/axes.h"
#include "graph/composites/composite.h"
#include "graph/composites/index.h"

namespace millrace {
namespace {

/// Whether the shape is known to lie within x's, except along one dim.
bool fits_elsewhere(const Shape& shape, const Shape& x, std::size_t dim) {
  bool fits = shape.rank() == x.rank();
  for (std::size_t d = 0; fits && d < x.rank(); ++d) fits = d == dim || (shape[d] - x[d]).upper_bound() <= 0;
  return fits;
}

}  // namespace

/// Computes each element's index in the vector from its position and its index along the axis.
Tensor scatter_elements(Tensor x, Tensor indices, Tensor updates, std::int64_t axis, ScatterReduction reduction) {
  return build_composite({x, indices, updates}, [&](Composite& composite) -> Tensor {
    GraphBuilder& graph = *x.builder();
    const std::optional<std::size_t> dim = find_axis(composite, x, axis);
    if (!dim) return {};
    const Shape shape = x.shape(), chosen = indices.shape();
    const bool is_index = indices.dtype() == DType::kI32 || indices.dtype() == DType::kI64;
    if (!is_index || !fits_elsewhere(chosen, shape, *dim) || updates.shape() != chosen) {
      return composite.refuse(
          fmt::format("indices are {} and updates {}, expected i32 or i64 and one shape, within that of operand 0, {}, "
                      "except along axis {}; reshape or cast them",
                      indices.type().to_text(), updates.type().to_text(), x.type().to_text(), *dim));
    }
    if (updates.dtype() != x.dtype()) {
      return composite.refuse(fmt::format("updates are {}, expected {} like operand 0, {}; insert a cast",
                                          updates.type().to_text(), to_text(x.dtype()), x.type().to_text()));
    }
    composite.explain_wrong_index(fmt::format(
        "an index of operand 1, {}, is outside axis {} of operand 0, {}; give {} to {}", indices.type().to_text(), *dim,
        x.type().to_text(), (0 - shape[*dim]).to_text(), (shape[*dim] - 1).to_text()));
    Tensor index = cast(indices, DType::kI64), size = size_of(graph, shape[*dim]);
    Tensor is_negative = less(index, 0);
    Tensor wrapped = select(is_negative, index + size, index);
    Tensor not_below = greater_equal(wrapped, 0);
    Tensor inside = logical_and(not_below, less(wrapped, size));
    Tensor flat;
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      Tensor part = d == *dim ? wrapped : positions(graph, chosen, d);
      flat = d == 0 ? part : flat * size_of(graph, shape[d]) + part;
    }
    const SizeExpr count = shape.num_elements(), num_updates = chosen.num_elements();
    flat = reshape(or_outside(inside, flat, count), {num_updates});
    Tensor vector = reshape(x, {count});
    return reshape(scatter_by(reduction, vector, flat, reshape(updates, {num_updates}), 0), shape);
  });
}

}  // namespace millrace
