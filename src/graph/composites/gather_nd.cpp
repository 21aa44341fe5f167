// SPDX-License-Identifier: Apache-2.0
// gather_nd and scatter_nd, as a gather or scatter along one axis that joins the indexed ones.
#include "graph/composites/composite.h"
#include "graph/composites/index.h"

namespace millrace {
namespace {

/// Combines indices along several axes into one row-major index over all of them.
struct FlatIndex {
  Tensor index;   // i64
  Tensor inside;  // bool: every index so far is within its axis, after wrapping
};

FlatIndex add_axis(FlatIndex flat, Tensor part, const SizeExpr& extent) {
  if (!part.is_valid()) return {};
  GraphBuilder& graph = *part.builder();
  Tensor size = broadcast_to(size_of(graph, extent), part.shape());
  Tensor zero = graph.fill(DType::kI64, part.shape(), 0);
  Tensor is_negative = less(part, zero);
  Tensor wrapped = select(is_negative, part + size, part);
  Tensor not_below = less_equal(zero, wrapped);
  Tensor inside = logical_and(not_below, less(wrapped, size));
  if (!flat.index.is_valid()) return {wrapped, inside};
  return {flat.index * size + wrapped, logical_and(flat.inside, inside)};  // braces fix the order of evaluation
}

/// Component `i` of every index: one column of the last dim.
Tensor part_of(Tensor indices, std::int64_t i) {
  const Shape shape = indices.shape();
  std::vector<SizeExpr> start(shape.rank(), 0), stop = shape.dims(), dims = shape.dims();
  start.back() = i;
  stop.back() = i + 1;
  dims.pop_back();
  return cast(reshape(slice(indices, std::move(start), std::move(stop)), Shape(std::move(dims))), DType::kI64);
}

/// x with the indexed axes joined into one, and the indices along that axis.
struct FlatAccess {
  Tensor x, index;
  SizeExpr count = 0;        // the extent of the joined axis
  std::size_t num_axes = 0;  // the number of joined axes
};

/// An index outside its own axis stays outside the combined axis, so that gather or scatter reports it. Returns invalid
/// tensors after a mistake.
FlatAccess flatten(const Composite& composite, Tensor x, Tensor indices) {
  const Shape shape = x.shape();
  const std::size_t index_rank = indices.shape().rank();
  const SizeExpr parts = index_rank == 0 ? SizeExpr(0) : indices.shape()[index_rank - 1];
  const auto rank = static_cast<std::int64_t>(shape.rank());
  if (!parts.is_constant() || parts.constant() < 1 || parts.constant() > rank || !is_integer(indices.dtype())) {
    composite.refuse(
        fmt::format("indices are {}, expected integers with 1 to {} parts in the last dim, for operand 0, {}; "
                    "reshape or cast them",
                    indices.type().to_text(), rank, x.type().to_text()));
    return {};
  }
  FlatIndex flat;
  SizeExpr count = 1;
  for (std::int64_t i = 0; i < parts.constant(); ++i) {
    const SizeExpr extent = shape[static_cast<std::size_t>(i)];
    flat = add_axis(flat, part_of(indices, i), extent);
    if (!flat.index.is_valid()) return {};
    count = count * extent;
  }
  Tensor outside = broadcast_to(size_of(composite.graph(), count), flat.index.shape());
  std::vector<SizeExpr> dims = {count};
  dims.insert(dims.end(), shape.dims().begin() + parts.constant(), shape.dims().end());
  Tensor index = select(flat.inside, flat.index, outside);
  return {reshape(x, Shape(std::move(dims))), index, count, static_cast<std::size_t>(parts.constant())};
}

std::string outside_text(Tensor x, Tensor indices) {
  return fmt::format("an index of operand 1, {}, is outside operand 0, {}; give indices within its axes",
                     indices.type().to_text(), x.type().to_text());
}

}  // namespace

Tensor gather_nd(Tensor x, Tensor indices) {
  return build_composite({x, indices}, [&](Composite& composite) -> Tensor {
    composite.explain_wrong_index(outside_text(x, indices));
    const FlatAccess flat = flatten(composite, x, indices);
    return flat.x.is_valid() ? gather(flat.x, flat.index, 0) : Tensor();
  });
}

Tensor scatter_nd(Tensor x, Tensor indices, Tensor updates, ScatterReduction reduction) {
  return build_composite({x, indices, updates}, [&](Composite& composite) -> Tensor {
    composite.explain_wrong_index(outside_text(x, indices));
    const FlatAccess flat = flatten(composite, x, indices);
    if (!flat.x.is_valid() || !flat.index.is_valid()) return {};
    std::vector<SizeExpr> expected = flat.index.shape().dims();
    const Shape shape = x.shape();
    expected.insert(expected.end(), shape.dims().begin() + static_cast<std::ptrdiff_t>(flat.num_axes),
                    shape.dims().end());
    if (updates.type() != TensorType{x.dtype(), Shape(expected)}) {
      return composite.refuse(
          fmt::format("updates are {}, expected {} like the result of gather_nd; reshape or cast them",
                      updates.type().to_text(), TensorType{x.dtype(), Shape(expected)}.to_text()));
    }
    return reshape(scatter_by(reduction, flat.x, flat.index, updates, 0), shape);
  });
}

}  // namespace millrace
