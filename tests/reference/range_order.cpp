// SPDX-License-Identifier: Apache-2.0
// Ranges of sort, topk and argmax: the k-th value of a row rises with each element; its index is known if no other
// element can take its place.
#include <algorithm>

#include "tests/reference/range_families.h"

namespace millrace::reference {
namespace {

/// Where the elements of one row along an axis are.
struct Row {
  std::int64_t base = 0, stride = 1, extent = 0;
  std::int64_t at(std::int64_t i) const { return base + i * stride; }
};

Row row_of(const Extents& extents, std::size_t axis, const Extents& index) {
  const Extents strides = row_major_strides(extents);
  return {offset_of(index, strides), strides[axis], extents[axis]};
}

/// Calls f with the index of the first element of every row.
template <class F>
void for_each_row(const Extents& extents, std::size_t axis, F&& f) {
  Extents rows = extents;
  rows[axis] = 1;
  if (count(extents) != 0) for_each_index(rows, f);
}

bool is_known(const Range& x, const Row& row) {
  for (std::int64_t i = 0; i < row.extent; ++i) {
    if (!x.is_known(row.at(i))) return false;
  }
  return true;
}
bool has_open(const Range& x, const Row& row) {
  for (std::int64_t i = 0; i < row.extent; ++i) {
    if (x.is_open(row.at(i))) return true;
  }
  return false;
}

/// A key; NaN is greatest.
long double key_at(const Tensor& tensor, std::int64_t i) {
  const auto key = read_element<long double>(tensor.type.dtype, tensor.element(i));
  return std::isnan(key) ? std::numeric_limits<long double>::infinity() : key;
}

struct Keys {
  std::vector<long double> low, high;
};

Keys keys_of(const Range& x, const Row& row) {
  Keys keys;
  for (std::int64_t i = 0; i < row.extent; ++i) {
    keys.low.push_back(key_at(x.low, row.at(i)));
    keys.high.push_back(key_at(x.high, row.at(i)));
  }
  return keys;
}

/// For each place of the sorted row, the index of the element that is there for certain, or -1.
std::vector<std::int64_t> certain_indices(const Keys& keys, bool descending) {
  const std::size_t n = keys.low.size();
  std::vector<long double> lows = keys.low, highs = keys.high;
  std::ranges::sort(lows);
  std::ranges::sort(highs);
  std::vector<std::int64_t> places(n, -1);
  for (std::size_t i = 0; i < n; ++i) {
    const auto below = std::ranges::lower_bound(highs, keys.low[i]) - highs.begin();
    const auto not_above = std::ranges::upper_bound(lows, keys.high[i]) - lows.begin();
    if (not_above != below + 1) continue;  // itself, and others whose order is unknown
    const auto place = static_cast<std::size_t>(below);
    places[descending ? n - 1 - place : place] = static_cast<std::int64_t>(i);
  }
  return places;
}

/// In a row that is not known: zeros of either sign are equal keys, and any of them may come first.
void allow_both_zeros(Range& values, std::int64_t i) {
  const DType dtype = values.low.type.dtype;
  if (!is_float(dtype) || key_at(values.low, i) != 0 || key_at(values.high, i) != 0) return;
  write_element(dtype, -0.0, values.low.element(i));
  write_element(dtype, 0.0, values.high.element(i));
}

/// Any element of the row at any place.
void widen_to_row(Range& range, const Row& row) {
  std::int64_t min_at = row.at(0), max_at = row.at(0);
  bool any_nan = false;
  const DType dtype = range.low.type.dtype;
  for (std::int64_t i = 0; i < row.extent; ++i) {
    const std::int64_t at = row.at(i);
    any_nan |= is_float(dtype) && !std::isfinite(key_at(range.high, at));
    if (key_at(range.low, at) < key_at(range.low, min_at)) min_at = at;
    if (key_at(range.high, at) > key_at(range.high, max_at)) max_at = at;
  }
  const Tensor low = range.low, high = range.high;
  for (std::int64_t i = 0; i < row.extent; ++i) {
    std::memcpy(range.low.element(row.at(i)), low.element(min_at), size_bytes(dtype));
    std::memcpy(range.high.element(row.at(i)), high.element(max_at), size_bytes(dtype));
    if (any_nan) open(range, row.at(i));
    allow_both_zeros(range, row.at(i));
  }
}

}  // namespace

Range arg_range(const RangeCase& node) {
  const Range& x = *node.operands[0];
  const bool is_max = node.op == Op::argmax;
  Range range = known(evaluate(node.op, node.attributes, lows(node.operands))[0]);
  const Extents extents = x.low.extents();
  const std::size_t axis = from_front(std::get<ArgAttrs>(node.attributes).axis, extents.size());
  std::int64_t result = 0;  // keep_dims or not, rows are in the order of the results
  for_each_row(extents, axis, [&](const Extents& index) {
    const Row row = row_of(extents, axis, index);
    const std::int64_t at = result++;
    if (is_known(x, row)) return;
    if (has_open(x, row)) return open(range, at);
    // The first NaN is the result, whatever the other elements are.
    const auto nan_of = [&](std::int64_t i) {
      return is_float(x.low.type.dtype) &&
             std::isnan(read_element<long double>(x.low.type.dtype, x.low.element(row.at(i))));
    };
    for (std::int64_t i = 0; i < row.extent; ++i) {
      if (nan_of(i)) return;
    }
    const Keys keys = keys_of(x, row);
    const long double limit = is_max ? std::ranges::max(keys.low) : std::ranges::min(keys.high);
    std::vector<std::int64_t> candidates;
    for (std::size_t i = 0; i < keys.low.size(); ++i) {
      if (is_max ? keys.high[i] >= limit : keys.low[i] <= limit) candidates.push_back(static_cast<std::int64_t>(i));
    }
    write_element(DType::kI64, static_cast<Int128>(candidates.front()), range.low.element(at));
    write_element(DType::kI64, static_cast<Int128>(candidates.back()), range.high.element(at));
  });
  return range;
}

std::vector<Range> order_range(const RangeCase& node) {
  const Range& x = *node.operands[0];
  const std::vector<Tensor> low = evaluate(node.op, node.attributes, lows(node.operands));
  const std::vector<Tensor> high = evaluate(node.op, node.attributes, highs(node.operands));
  Range values = {low[0], high[0]}, indices = known(low[1]);
  const auto* sort = std::get_if<SortAttrs>(&node.attributes);
  const auto* topk = std::get_if<TopKAttrs>(&node.attributes);
  const Extents extents = x.low.extents(), results = low[0].extents();
  const std::size_t axis = from_front(sort != nullptr ? sort->axis : topk->axis, extents.size());
  const bool descending = sort != nullptr ? sort->descending : topk->largest;
  if (values.low.num_elements() == 0) return {values, indices};
  for_each_row(extents, axis, [&](const Extents& index) {
    const Row row = row_of(extents, axis, index), result = row_of(results, axis, index);
    if (!is_known(x, row)) {
      const bool is_open = has_open(x, row);
      const std::vector<std::int64_t> certain = certain_indices(keys_of(x, row), descending);
      for (std::int64_t i = 0; i < result.extent; ++i) {
        if (is_open) open(values, result.at(i));
        allow_both_zeros(values, result.at(i));
        const std::int64_t chosen = is_open ? -1 : certain[static_cast<std::size_t>(i)];
        write_element(DType::kI64, static_cast<Int128>(std::max<std::int64_t>(chosen, 0)),
                      indices.low.element(result.at(i)));
        write_element(DType::kI64, static_cast<Int128>(chosen < 0 ? row.extent - 1 : chosen),
                      indices.high.element(result.at(i)));
      }
    }
    if (topk == nullptr || topk->sorted) return;
    widen_to_row(values, result);
    widen_to_row(indices, result);
  });
  return {values, indices};
}

}  // namespace millrace::reference
