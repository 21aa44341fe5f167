// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "graph/composites/axes.h"
#include "graph/composites/composite.h"
#include "graph/composites/index.h"

namespace millrace {
namespace {

/// Whether x comes before y in the order of sort, where NaN is greatest.
Tensor comes_before(Tensor x, Tensor y) {
  Tensor is_less = less(x, y);
  if (!is_less.is_valid() || !is_float(x.dtype())) return is_less;
  Tensor only_y_is_nan = logical_and(equal(x, x), not_equal(y, y));
  return logical_or(is_less, only_y_is_nan);
}

}  // namespace

Tensor searchsorted(Tensor sorted, Tensor values, bool right) try {
  if (!sorted.is_valid() || !values.is_valid()) return {};
  const Shape among = sorted.shape(), wanted = values.shape();
  const std::size_t rank = among.rank();
  bool fits = rank >= 1 && wanted.rank() == rank && sorted.dtype() == values.dtype();
  for (std::size_t d = 0; fits && d + 1 < rank; ++d) fits = among[d] == wanted[d];
  if (!fits) {
    return refuse(
        *sorted.builder(), "searchsorted",
        fmt::format("operands are {} and {}, expected one dtype, and equal dims but the last; reshape or cast "
                    "one",
                    sorted.type().to_text(), values.type().to_text()));
  }
  // [..., m, n]: each of the values beside each of the elements.
  std::vector<SizeExpr> pairs = wanted.dims();
  pairs.push_back(among[rank - 1]);
  const Shape shape(std::move(pairs));
  const auto last = static_cast<std::int64_t>(rank);
  Tensor element = broadcast_to(unsqueeze(sorted, {last - 1}), shape),
         value = broadcast_to(unsqueeze(values, {last}), shape);
  Tensor counts = right ? logical_not(comes_before(value, element)) : comes_before(element, value);
  return reduce_sum(cast(counts, DType::kI64), {last});
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({sorted, values}), "searchsorted");
}

Tensor cumulative_argmax(Tensor x, std::int64_t axis) try {
  if (!x.is_valid()) return {};
  const std::optional<std::size_t> dim = find_axis("cumulative_argmax", x, axis);
  if (!dim) return {};
  const auto along = static_cast<std::int64_t>(*dim);
  // An element is a new maximum if it comes after all before it, and the first one always is.
  Tensor before = cumulative_max(x, {.axis = along, .exclusive = true});
  Tensor place = positions(*x.builder(), x.shape(), *dim);
  if (!before.is_valid() || !place.is_valid()) return {};
  Tensor is_new = logical_or(comes_before(before, x), equal(place, 0));
  Tensor first = select(is_new, place, x.builder()->fill(DType::kI64, x.shape(), 0));
  return cumulative_max(first, {.axis = along});
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), "cumulative_argmax");
}

}  // namespace millrace
