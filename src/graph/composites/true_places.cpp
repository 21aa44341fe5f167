// SPDX-License-Identifier: Apache-2.0
// Compacts the indices of true elements without a sort, for nonzero and unique.
#include "graph/composites/true_places.h"

#include <limits>

namespace millrace {

/// Scatters each element's index to place p, where p is the number of true elements before it. A false element goes to
/// the place of the next true element, which overwrites it, or after the last true element. So no element needs a test.
/// If the bound can be below n, one extra place takes the elements beyond the bound.
TruePlaces find_true(Tensor is_true, const SizeExpr& bound) {
  if (!is_true.is_valid()) return {};
  GraphBuilder& graph = *is_true.builder();
  const SizeExpr n = is_true.shape()[0];
  const bool is_short = max(n, bound).upper_bound() <= std::numeric_limits<std::int32_t>::max();
  TruePlaces found;
  found.dtype = is_short ? DType::kI32 : DType::kI64;
  found.ones = cast(is_true, found.dtype);
  found.before = cumulative_sum(found.ones, {.axis = 0, .exclusive = true});
  Tensor count = reduce_sum(found.ones, {0});
  found.count = cast(count, DType::kI64);
  const bool all_fit = (n - bound).upper_bound() <= 0;
  Tensor to = all_fit ? found.before : min(found.before, cast(size_of(graph, bound), found.dtype));
  Tensor none = graph.fill(found.dtype, {all_fit ? bound : bound + 1}, 0);
  found.places = scatter(none, to, iota(graph, found.dtype, {n}, 0), 0);
  if (!all_fit) found.places = slice(found.places, {0}, {bound});
  found.is_place = less(iota(graph, found.dtype, {bound}, 0), count);
  return found;
}

bool check_bound(const Composite& composite, const SizeExpr& bound) {
  if (bound.upper_bound() >= 0) return true;
  composite.refuse(fmt::format("bound is {}, expected 0 or more; raise it", bound.to_text()));
  return false;
}

}  // namespace millrace
