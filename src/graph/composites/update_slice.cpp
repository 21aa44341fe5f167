// SPDX-License-Identifier: Apache-2.0
// Writes a slice into a tensor, as a scatter by consecutive indices; the schedule stores the result in x if it can.
#include "graph/composites/axes.h"
#include "graph/composites/composite.h"

namespace millrace {
namespace {

/// Finds the axis, and checks that the update fits x along it.
std::optional<std::size_t> find_updated_axis(const Composite& composite, Tensor x, Tensor update, std::int64_t axis) {
  const std::optional<std::size_t> dim = find_axis(composite, x, axis);
  if (!dim) return std::nullopt;
  TensorType expected = x.type();
  if (update.shape().rank() == expected.shape.rank()) expected.shape[*dim] = update.shape()[*dim];
  if (update.type() != expected) {
    composite.refuse(
        fmt::format("update is {}, expected the type of operand 0, {}, except along axis {}; reshape or cast it",
                    update.type().to_text(), x.type().to_text(), *dim));
    return std::nullopt;
  }
  const SizeExpr extent = x.shape()[*dim];
  if ((update.shape()[*dim] - extent).lower_bound() > 0) {
    composite.refuse(
        fmt::format("update is {}, expected at most {} elements along axis {}, like operand 0, {}; slice it",
                    update.type().to_text(), extent.to_text(), *dim, x.type().to_text()));
    return std::nullopt;
  }
  return dim;
}

/// A message that says where the update may start.
std::string outside_text(std::string_view found, Tensor x, Tensor update, std::size_t dim) {
  const SizeExpr extent = x.shape()[dim], rest = extent - update.shape()[dim];
  return fmt::format(
      "{} for {} along axis {} of operand 0, {}, expected 0 to {}, or {} to {} to count from the end; choose one of "
      "these",
      found, update.type().to_text(), dim, x.type().to_text(), rest.to_text(), (0 - extent).to_text(),
      (rest - extent).to_text());
}

/// Makes a negative index count from the end. An index below -extent stays, and scatter refuses it.
Tensor from_beginning(Tensor index, const SizeExpr& extent) {
  if (!index.is_valid()) return {};
  Tensor from_end = index + size_of(*index.builder(), extent);
  Tensor is_negative = less(index, 0);
  Tensor is_from_end = logical_and(is_negative, greater_equal(from_end, 0));
  return select(is_from_end, from_end, index);
}

/// Repeats the start once per index, so that one kernel computes all indices.
Tensor spread(Tensor start, Tensor update, std::size_t dim) { return broadcast_to(start, {update.shape()[dim]}); }

Tensor scatter_from(Tensor x, Tensor update, std::size_t dim, Tensor first) {
  Tensor count = iota(*x.builder(), DType::kI64, {update.shape()[dim]}, 0);
  return scatter(x, count + first, update, static_cast<std::int64_t>(dim));
}

}  // namespace

Tensor update_slice(Tensor x, Tensor update, std::int64_t axis, SizeExpr start) {
  return build_composite({x, update}, [&](Composite& composite) -> Tensor {
    GraphBuilder& graph = *x.builder();
    const std::optional<std::size_t> dim = find_updated_axis(composite, x, update, axis);
    if (!dim) return {};
    const SizeExpr extent = x.shape()[*dim], rest = extent - update.shape()[*dim];
    const SizeExpr first = start.upper_bound() < 0 ? extent + start : start;
    const std::string outside = outside_text("start is " + start.to_text(), x, update, *dim);
    if (first.upper_bound() < 0 || (first - rest).lower_bound() > 0) return composite.refuse(outside);
    composite.explain_wrong_index(outside);
    const bool is_inside = first.lower_bound() >= 0;
    Tensor index = spread(size_of(graph, is_inside ? first : start), update, *dim);
    return scatter_from(x, update, *dim, is_inside ? index : from_beginning(index, extent));
  });
}

Tensor update_slice(Tensor x, Tensor update, std::int64_t axis, Tensor start) {
  return build_composite({x, update, start}, [&](Composite& composite) -> Tensor {
    const std::optional<std::size_t> dim = find_updated_axis(composite, x, update, axis);
    if (!dim) return {};
    const bool is_index = start.dtype() == DType::kI32 || start.dtype() == DType::kI64;
    if (!is_index || start.shape().rank() != 0) {
      return composite.refuse(
          fmt::format("start is {}, expected i32[] or i64[]; reshape or cast it", start.type().to_text()));
    }
    composite.explain_wrong_index(outside_text("start, operand 2, is outside", x, update, *dim));
    Tensor index = spread(cast(start, DType::kI64), update, *dim);
    return scatter_from(x, update, *dim, from_beginning(index, x.shape()[*dim]));
  });
}

}  // namespace millrace
