// SPDX-License-Identifier: Apache-2.0
// Cases of sorts, and their expected order from plain code: a std::sort of (value, index).
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include "millrace/jit/algorithm.h"

namespace millrace::test {

enum class Pattern { kRandom, kTies, kEqual, kAscending, kDescending, kSpecial };
inline constexpr Pattern kAllPatterns[] = {Pattern::kRandom,    Pattern::kTies,       Pattern::kEqual,
                                           Pattern::kAscending, Pattern::kDescending, Pattern::kSpecial};

struct SortCase {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> extents;
  std::uint32_t axis = 0;
  std::int64_t k = 0;
  bool largest = false;
  bool wants_values = true;
  bool wants_indices = true;
  Pattern pattern = Pattern::kTies;
  bool sorted = true;
};

inline std::size_t num_elements(const std::vector<std::int64_t>& extents) {
  return static_cast<std::size_t>(
      std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>()));
}

inline SortDescriptor descriptor_of(const SortCase& test) {
  SortDescriptor sort;
  sort.name = "sort";
  const Shape shape(std::vector<SizeExpr>(test.extents.begin(), test.extents.end()));
  sort.input = {"x", {test.dtype, shape}, Layout::row_major(shape)};
  sort.axis = test.axis;
  sort.k = test.k;
  sort.largest = test.largest;
  sort.sorted = test.sorted;
  Shape result = shape;
  result[test.axis] = test.k;
  if (test.wants_values) sort.values = {"values", {test.dtype, result}, Layout::row_major(result)};
  if (test.wants_indices) sort.indices = {"indices", {DType::kI64, result}, Layout::row_major(result)};
  return sort;
}

/// NaN of both signs and with a payload, infinities, zeros of both signs, subnormals: a bit pattern of the float T.
template <class T>
T special_number(std::uint64_t pick) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float numbers[] = {infinity, -infinity, 0.0f, -0.0f, nan, -nan, 1.5f, -1.5f};
  T value = static_cast<T>(numbers[pick % 8]);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  // The smallest magnitudes, and the lowest bit of a NaN.
  if (pick / 8 % 2 == 1 && pick % 8 >= 2 && pick % 8 < 6) bits |= 1;
  std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
  return value;
}

template <class T>
std::vector<T> make_input(const SortCase& test) {
  std::mt19937_64 random(3);
  std::vector<T> values(num_elements(test.extents));
  const std::int64_t n = std::max<std::int64_t>(test.extents.back(), 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t draw = random();
    const auto column = static_cast<std::int64_t>(i) % n;
    if (test.pattern == Pattern::kSpecial && !std::is_integral_v<T>) {
      if constexpr (!std::is_integral_v<T>) values[i] = special_number<T>(draw);
    } else if (test.pattern == Pattern::kRandom && std::is_integral_v<T>) {
      std::memcpy(static_cast<void*>(&values[i]), &draw, sizeof(T));
    } else {
      auto number = static_cast<double>(draw % 50) - 25;
      if (test.pattern == Pattern::kRandom) number = static_cast<double>(draw % 20'000'000) - 1e7;
      if (test.pattern == Pattern::kEqual) number = 7;
      if (test.pattern == Pattern::kAscending) number = static_cast<double>(column) / 2;
      if (test.pattern == Pattern::kDescending) number = static_cast<double>(n - column) / 2;
      if (test.pattern == Pattern::kSpecial) number *= 5;  // integers: up to the highest bit of 8
      if constexpr (std::is_integral_v<T>) {
        values[i] = static_cast<T>(static_cast<std::int64_t>(number));
      } else {
        values[i] = static_cast<T>(static_cast<float>(number));
      }
    }
  }
  if constexpr (std::is_integral_v<T>) {
    if (test.dtype == DType::kBool) std::ranges::for_each(values, [](T& value) { value &= 1; });
  }
  return values;
}

/// Whether a comes before b in ascending order: NaN is greatest, -0 equals +0.
template <class T>
bool is_below(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b;
  } else {
    const auto x = static_cast<double>(static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(a));
    const auto y = static_cast<double>(static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(b));
    if (std::isnan(x)) return false;
    return std::isnan(y) || x < y;
  }
}

/// The expected order of one row. (std::sort with the index as the last word: clang 19 refuses GCC 12's stable_sort.)
template <class T>
std::vector<std::int64_t> order_of_row(const SortCase& test, const std::vector<T>& row) {
  std::vector<std::int64_t> order(row.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const T x = row[static_cast<std::size_t>(a)], y = row[static_cast<std::size_t>(b)];
    if (is_below<T>(x, y) || is_below<T>(y, x)) return is_below<T>(x, y) != test.largest;
    return a < b;
  });
  return order;
}

/// A result of a row; an unwanted result is 0.
struct ChosenElement {
  std::uint64_t value_bits = 0;
  std::int64_t index = 0;
  friend auto operator<=>(const ChosenElement&, const ChosenElement&) = default;
};

/// How many results are not bit for bit as they should be; as sets when they need not be sorted. Results that are not
/// wanted are null.
template <class T>
std::size_t count_wrong(const SortCase& test, const std::vector<T>& input, const std::byte* values,
                        const std::byte* indices) {
  const auto outer_begin = test.extents.begin(), axis = outer_begin + test.axis;
  const auto num_outer = static_cast<std::int64_t>(num_elements({outer_begin, axis}));
  const auto num_inner = static_cast<std::int64_t>(num_elements({axis + 1, test.extents.end()}));
  std::size_t num_wrong = 0;
  for (std::int64_t outer = 0; outer < num_outer; ++outer) {
    for (std::int64_t inner = 0; inner < num_inner; ++inner) {
      std::vector<T> row;
      for (std::int64_t i = 0; i < *axis; ++i) {
        row.push_back(input[static_cast<std::size_t>((outer * *axis + i) * num_inner + inner)]);
      }
      const std::vector<std::int64_t> order = order_of_row(test, row);
      std::vector<ChosenElement> expected(static_cast<std::size_t>(test.k)), found = expected;
      for (std::size_t i = 0; i < found.size(); ++i) {
        const std::size_t place = (static_cast<std::size_t>(outer * test.k) + i) * static_cast<std::size_t>(num_inner) +
                                  static_cast<std::size_t>(inner);
        if (values) std::memcpy(&expected[i].value_bits, &row[static_cast<std::size_t>(order[i])], sizeof(T));
        if (values) std::memcpy(&found[i].value_bits, values + place * sizeof(T), sizeof(T));
        if (indices) expected[i].index = order[i];
        if (indices) std::memcpy(&found[i].index, indices + place * 8, 8);
      }
      if (!test.sorted) std::ranges::sort(expected);
      if (!test.sorted) std::ranges::sort(found);
      for (std::size_t i = 0; i < found.size(); ++i) num_wrong += found[i] != expected[i];
    }
  }
  return num_wrong;
}

}  // namespace millrace::test
