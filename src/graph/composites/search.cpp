// SPDX-License-Identifier: Apache-2.0
// Binary search in sorted rows, and running argmax.
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

/// The maximum row length for which comparing a value with every element is faster than the loop of a binary search.
constexpr std::int64_t kMaxCounted = 32;

/// Whether the element comes before the place at which the value would be inserted.
Tensor is_before_place(Tensor element, Tensor value, bool right) {
  return right ? logical_not(comes_before(value, element)) : comes_before(element, value);
}

/// Compares each value with every element.
Tensor count_before(Tensor sorted, Tensor values, bool right) {
  const std::size_t rank = sorted.shape().rank();
  // [..., m, n]: each value paired with each element.
  std::vector<SizeExpr> pairs = values.shape().dims();
  pairs.push_back(sorted.shape()[rank - 1]);
  const Shape shape(std::move(pairs));
  const auto last = static_cast<std::int64_t>(rank);
  Tensor element = broadcast_to(unsqueeze(sorted, {last - 1}), shape),
         value = broadcast_to(unsqueeze(values, {last}), shape);
  return reduce_sum(cast(is_before_place(element, value, right), DType::kI64), {last});
}

/// Branch-free binary search. The place of each value is at one of the `length` elements from its base on, or right
/// after them. Each iteration compares the value with the middle element and halves the length, rounded down. All
/// values have the same length, so the number of iterations does not depend on data.
Tensor search_before(Tensor sorted, Tensor values, bool right) {
  GraphBuilder& graph = *sorted.builder();
  const auto to_values = [&](Tensor scalar) { return broadcast_to(scalar, values.shape()); };
  const auto half_of = [](Tensor length) { return (length + 1) / 2; };
  const Tensor length = size_of(graph, sorted.shape().dims().back());
  // The state holds the middle index of each value, base + half - 1, and the length.
  const std::vector<Tensor> last = graph.while_loop(
      {to_values(half_of(length) - 1), length}, [&](std::span<const Tensor> state) { return greater(state[1], 0); },
      [&](std::span<const Tensor> state) {
        const Tensor half = half_of(state[1]), left = state[1] - half;
        const Tensor element = take_along_axis(sorted, state[0], -1);
        const Tensor moves = to_values(half_of(left) - half);
        const Tensor middle = state[0] + moves;
        return std::vector{select(is_before_place(element, values, right), middle + to_values(half), middle), left};
      });
  return last.empty() ? Tensor() : last[0] + 1;  // without elements, the middle is base - 1
}

}  // namespace

Tensor searchsorted(Tensor sorted, Tensor values, bool right) {
  return build_composite({sorted, values}, [&](Composite& composite) -> Tensor {
    const Shape among = sorted.shape(), wanted = values.shape();
    const std::size_t rank = among.rank();
    bool fits = rank >= 1 && wanted.rank() == rank && sorted.dtype() == values.dtype();
    for (std::size_t d = 0; fits && d + 1 < rank; ++d) fits = among[d] == wanted[d];
    if (!fits) {
      return composite.refuse(
          fmt::format("operands are {} and {}, expected one dtype, and equal dims except the last; reshape or cast "
                      "one",
                      sorted.type().to_text(), values.type().to_text()));
    }
    const bool is_short = among[rank - 1].upper_bound() <= kMaxCounted;
    return is_short ? count_before(sorted, values, right) : search_before(sorted, values, right);
  });
}

Tensor cumulative_argmax(Tensor x, std::int64_t axis) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    const std::optional<std::size_t> dim = find_axis(composite, x, axis);
    if (!dim) return {};
    const auto along = static_cast<std::int64_t>(*dim);
    // An element is a new maximum if it is greater (NaN is greatest) than all elements before it; the first always is.
    Tensor before = cumulative_max(x, {.axis = along, .exclusive = true});
    Tensor place = positions(*x.builder(), x.shape(), *dim);
    if (!before.is_valid() || !place.is_valid()) return {};
    Tensor is_new = logical_or(comes_before(before, x), equal(place, 0));
    Tensor first = select(is_new, place, x.builder()->fill(DType::kI64, x.shape(), 0));
    return cumulative_max(first, {.axis = along});
  });
}

}  // namespace millrace
