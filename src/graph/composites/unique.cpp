// SPDX-License-Identifier: Apache-2.0
// The different values of a vector, by sorting it and marking the first of equal elements.
#include "graph/composites/true_places.h"

namespace millrace {
namespace {

/// bool [n]: whether a sorted element is the first of its equals. NaN comes last, and equals NaN.
Tensor is_first_of_equals(Tensor sorted) {
  const SizeExpr n = sorted.shape()[0], rest = max(n - 1, 0);
  Tensor before = slice(sorted, {0}, {rest}), after = slice(sorted, {n - rest}, {n});
  Tensor differs = not_equal(before, after);
  if (is_float(sorted.dtype())) differs = logical_and(differs, equal(before, before));
  return pad(differs, {n - rest}, {0}, true);
}

/// x[n] itself, or a single 0 if x is empty, so that index 0 is valid.
Tensor with_some(Tensor x) {
  const SizeExpr n = x.shape()[0];
  return n.lower_bound() >= 1 ? x : pad(x, {0}, {1 - min(n, 1)});
}

}  // namespace

UniqueResults unique(Tensor x, SizeExpr bound) {
  return build_composite({x}, [&](Composite& composite) -> UniqueResults {
    GraphBuilder& graph = *x.builder();
    if (!check_bound(composite, bound)) return {};
    if (x.shape().rank() != 1) {
      composite.refuse(fmt::format("operand is {}, expected rank 1; reshape it", x.type().to_text()));
      return {};
    }
    if (!composite.passes(expect_within_limits({x.dtype(), {bound}}))) return {};
    const SizeExpr n = x.shape()[0];
    const auto [sorted, order] = sort(x, 0);
    if (!sorted.is_valid()) return {};
    // Find one place more than the bound: each run of equal elements ends where the next one begins.
    const TruePlaces found = find_true(is_first_of_equals(sorted), bound + 1);
    if (!found.count.is_valid()) return {};
    Tensor end_of_all = broadcast_to(cast(size_of(graph, n), found.dtype), {bound + 1});
    Tensor places = select(found.is_place, found.places, end_of_all);
    Tensor begin = slice(places, {0}, {bound}), end = slice(places, {1}, {bound + 1});
    Tensor last = cast(size_of(graph, max(n, 1) - 1), found.dtype);
    Tensor place = min(begin, last);
    const bool is_never_beyond = (bound - n).upper_bound() <= 0;  // if so, an empty x is never indexed
    const auto at_place = [&](Tensor of) { return gather(is_never_beyond ? of : with_some(of), place, 0); };
    Tensor is_value = slice(found.is_place, {0}, {bound});
    Tensor first = select(is_value, at_place(order), graph.fill(DType::kI64, {bound}, -1));
    // `order` has each index of x once, so every 0 is overwritten.
    Tensor value_of = scatter(graph.fill(found.dtype, {n}, 0), order, found.before + found.ones - 1, 0);
    return {.values = at_place(sorted),
            .inverse = cast(value_of, DType::kI64),
            .counts = cast(end - begin, DType::kI64),
            .first_indices = first,
            .count = found.count};
  });
}

UniqueResults unique(Tensor x) {
  return build_composite({x}, [&](Composite&) { return unique(x, x.shape().num_elements()); });
}

}  // namespace millrace
