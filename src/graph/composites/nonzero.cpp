// SPDX-License-Identifier: Apache-2.0
// The indices of the elements that are not 0, one row of indices per element.
#include "graph/composites/true_places.h"

namespace millrace {
namespace {

/// [bound, rank]: each row-major index in `found`, split into one index per axis; -1 after the last of them.
Tensor split_places(const TruePlaces& found, const Shape& shape, const SizeExpr& bound) {
  GraphBuilder& graph = *found.count.builder();
  const std::size_t rank = shape.rank();
  const Tensor none = graph.fill(DType::kI64, rank == 0 ? Shape{bound, 0} : Shape{bound}, -1);
  if (rank == 0) return none;
  std::vector<Tensor> indices(rank);
  Tensor rest = found.places;
  for (std::size_t d = rank; d-- > 0;) {
    Tensor extent = cast(size_of(graph, shape[d]), found.dtype);
    Tensor index = d == 0 ? rest : rem(rest, extent);
    if (d > 0) rest = rest / extent;
    indices[d] = select(found.is_place, cast(index, DType::kI64), none);
  }
  return stack(indices, 1);
}

}  // namespace

IndicesAndCount nonzero(Tensor x, SizeExpr bound) {
  return build_composite({x}, [&](Composite& composite) -> IndicesAndCount {
    if (!check_bound(composite, bound)) return {};
    const auto rank = static_cast<std::int64_t>(x.shape().rank());
    if (!composite.passes(expect_within_limits({DType::kI64, {bound, rank}}))) return {};
    Tensor is_nonzero = x.dtype() == DType::kBool ? x : not_equal(x, 0);
    const Shape shape = x.shape();
    const TruePlaces found = find_true(reshape(is_nonzero, {shape.num_elements()}), bound);
    if (!found.count.is_valid()) return {};
    return {split_places(found, shape, bound), found.count};
  });
}

IndicesAndCount nonzero(Tensor x) {
  return build_composite({x}, [&](Composite&) { return nonzero(x, x.shape().num_elements()); });
}

}  // namespace millrace
