// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "tests/jit/run_sequence.h"

namespace millrace {
namespace {

using test::forced;
using test::GuardedMemory;
using test::interpreted_target;

enum class Pattern { kRandom, kEqual, kAscending, kDescending, kSpecial };

struct SortCase {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> extents;
  std::uint32_t axis = 0;
  std::int64_t k = 0;
  bool largest = false;
  bool wants_values = true;
  bool wants_indices = true;
  Pattern pattern = Pattern::kRandom;
};

Shape shape_of(const std::vector<std::int64_t>& extents) {
  return Shape(std::vector<SizeExpr>(extents.begin(), extents.end()));
}

std::size_t num_elements(const std::vector<std::int64_t>& extents) {
  return static_cast<std::size_t>(
      std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>()));
}

SortDescriptor descriptor_of(const SortCase& test) {
  SortDescriptor sort;
  sort.name = "sort";
  const Shape shape = shape_of(test.extents);
  sort.input = {"x", {test.dtype, shape}, Layout::row_major(shape)};
  sort.axis = test.axis;
  sort.k = test.k;
  sort.largest = test.largest;
  Shape result = shape;
  result[test.axis] = test.k;
  if (test.wants_values) sort.values = {"values", {test.dtype, result}, Layout::row_major(result)};
  if (test.wants_indices) sort.indices = {"indices", {DType::kI64, result}, Layout::row_major(result)};
  return sort;
}

/// Values with many ties; `special` adds infinities, zeros of both signs and NaNs of both signs.
template <class T>
std::vector<T> make_input(const SortCase& test) {
  std::mt19937 random(3);
  std::vector<T> values(num_elements(test.extents));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto draw = static_cast<double>(random() % 50) - 25;
    double number = draw;
    if (test.pattern == Pattern::kEqual) number = 7;
    if (test.pattern == Pattern::kAscending) number = static_cast<double>(i % 100);
    if (test.pattern == Pattern::kDescending) number = 100 - static_cast<double>(i % 100);
    if constexpr (std::is_same_v<T, bool>) {
      values[i] = number > 0;
    } else if constexpr (std::is_integral_v<T>) {
      // The highest bit is used, so that unsigned keys compared as signed would show.
      values[i] = static_cast<T>(static_cast<std::int64_t>(number) * (test.pattern == Pattern::kSpecial ? 5 : 1));
    } else {
      const float infinity = std::numeric_limits<float>::infinity();
      const float nan = std::numeric_limits<float>::quiet_NaN();
      const float specials[] = {infinity, -infinity, 0.0f, -0.0f, nan, -nan, 1.5f, -1.5f};
      const auto pick = static_cast<std::size_t>(draw + 25) % 8;
      values[i] = static_cast<T>(test.pattern == Pattern::kSpecial ? specials[pick] : static_cast<float>(number) / 4);
    }
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

struct Strides {
  std::int64_t inner = 1;
  std::int64_t outer = 1;
};
Strides strides_of(const std::vector<std::int64_t>& extents, std::size_t axis) {
  Strides strides;
  for (std::size_t d = axis + 1; d < extents.size(); ++d) strides.inner *= extents[d];
  for (std::size_t d = 0; d < axis; ++d) strides.outer *= extents[d];
  return strides;
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

template <class T>
void check_results(const SortCase& test, const std::vector<T>& input, const std::byte* values,
                   const std::byte* indices) {
  const Strides strides = strides_of(test.extents, test.axis);
  const std::int64_t n = test.extents[test.axis];
  std::size_t num_wrong = 0;
  for (std::int64_t outer = 0; outer < strides.outer; ++outer) {
    for (std::int64_t inner = 0; inner < strides.inner; ++inner) {
      std::vector<T> row;
      for (std::int64_t i = 0; i < n; ++i) {
        row.push_back(input[static_cast<std::size_t>((outer * n + i) * strides.inner + inner)]);
      }
      const std::vector<std::int64_t> order = order_of_row(test, row);
      for (std::int64_t i = 0; i < test.k; ++i) {
        const auto place = static_cast<std::size_t>((outer * test.k + i) * strides.inner + inner);
        const T expected = row[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])];
        if (values) num_wrong += std::memcmp(values + place * sizeof(T), &expected, sizeof(T)) != 0;
        const std::int64_t index = order[static_cast<std::size_t>(i)];
        if (indices) num_wrong += std::memcmp(indices + place * 8, &index, 8) != 0;
      }
    }
  }
  CHECK(num_wrong == 0);
}

template <class T>
void check_sort(const SortCase& test, const std::string& algorithm) {
  CAPTURE(to_text(test.dtype));
  CAPTURE(test.k);
  CAPTURE(algorithm);
  const Result<KernelSequence> sequence =
      lower_request(descriptor_of(test), interpreted_target(IsaLevel::kAvx2), forced(algorithm));
  REQUIRE(sequence.status().message() == "");
  const std::vector<T> input = make_input<T>(test);
  GuardedMemory x(input.size() * sizeof(T), GuardedMemory::Side::kEnd);
  std::copy(input.begin(), input.end(), reinterpret_cast<T*>(x.data()));
  x.make_read_only();
  std::vector<std::int64_t> kept = test.extents;
  kept[test.axis] = test.k;
  const GuardedMemory values(num_elements(kept) * sizeof(T), GuardedMemory::Side::kEnd);
  const GuardedMemory indices(num_elements(kept) * 8, GuardedMemory::Side::kStart);
  std::vector<void*> results;
  if (test.wants_values) results.push_back(values.data());
  if (test.wants_indices) results.push_back(indices.data());
  CHECK(test::run_sequence(*sequence, {x.data()}, results, {}) == 0);
  check_results(test, input, test.wants_values ? values.data() : nullptr,
                test.wants_indices ? indices.data() : nullptr);
}

void check_sort_of_dtype(const SortCase& test, const std::string& algorithm) {
  visit_dtype(test.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) {
      return;  // std::vector<bool> has no elements in memory: see the test of its own
    } else {
      check_sort<T>(test, algorithm);
    }
  });
}

constexpr const char* kAlgorithms[] = {"merge_sort", "merge_sort_scratch"};

TEST_CASE("every dtype and pattern sorts stably, NaN greatest, in both directions") {
  for (const DType dtype : kAllDTypes) {
    for (const Pattern pattern :
         {Pattern::kRandom, Pattern::kEqual, Pattern::kAscending, Pattern::kDescending, Pattern::kSpecial}) {
      for (const bool largest : {false, true}) {
        SortCase test{dtype, {2, 33}, 1, 33, largest};
        test.pattern = pattern;
        check_sort_of_dtype(test, kAlgorithms[largest]);
      }
    }
  }
}

TEST_CASE("any axis, any size, any k, each subset of wanted results") {
  for (const char* algorithm : kAlgorithms) {
    for (std::uint32_t axis = 0; axis < 3; ++axis)
      check_sort<float>({DType::kF32, {5, 3, 4}, axis, 2, true}, algorithm);
    for (const std::int64_t n : {0, 1, 2, 3, 31, 32, 33, 64, 65}) {
      for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, n}) {
        if (k > n) continue;
        for (const int wanted : {1, 2, 3}) {
          SortCase test{DType::kF64, {3, n}, 1, k, true, (wanted & 1) != 0, (wanted & 2) != 0};
          check_sort<double>(test, algorithm);
          test.dtype = DType::kI16;
          check_sort<std::int16_t>(test, algorithm);
        }
      }
    }
    check_sort<float>({DType::kF32, {0, 4}, 1, 4}, algorithm);
  }
  check_sort<float>({DType::kF32, {1, 1000}, 1, 1000}, "merge_sort");
}

TEST_CASE("bools sort, false first") {
  SortCase test{DType::kBool, {6}, 0, 6};
  const Result<KernelSequence> sequence =
      lower_request(descriptor_of(test), interpreted_target(IsaLevel::kAvx512), forced("merge_sort"));
  REQUIRE(sequence.status().message() == "");
  bool x[] = {true, false, true, true, false, false}, values[6];
  std::int64_t indices[6];
  CHECK(test::run_sequence(*sequence, {x}, {values, indices}, {}) == 0);
  CHECK(std::vector<bool>(values, values + 6) == std::vector<bool>{false, false, false, true, true, true});
  CHECK(std::vector<std::int64_t>(indices, indices + 6) == std::vector<std::int64_t>{1, 4, 5, 0, 2, 3});
}

TEST_CASE("rows and k that only a run knows take scratch") {
  SortDescriptor sort = descriptor_of({DType::kI32, {2, 9}, 1, 4, true});
  const Dim n = Dim("n").at_least(1), k = Dim("k").at_most(100);
  const Shape shape{2, n}, kept{2, k};
  sort.input = {"x", {DType::kI32, shape}, Layout::row_major(shape)};
  sort.k = k;
  sort.values = {"values", {DType::kI32, kept}, Layout::row_major(kept)};
  sort.indices = {"indices", {DType::kI64, kept}, Layout::row_major(kept)};
  const Result<KernelSequence> sequence = lower_request(sort, interpreted_target(IsaLevel::kAvx2), forced(""));
  REQUIRE(sequence.status().message() == "");
  CHECK(sequence->algorithm == "merge_sort_scratch");
  CHECK(sequence->refusals ==
        std::vector<Refusal>{{"merge_sort", "rows of n elements; workgroup memory is sized when the kernel is made"}});
  std::int32_t x[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 2, 7, 1, 8, 2, 8, 1, 8, 2}, values[8];
  std::int64_t indices[8];
  CHECK(test::run_sequence(*sequence, {x}, {values, indices}, {{"n", 9}, {"k", 4}}) == 0);
  CHECK(std::vector<std::int32_t>(values, values + 8) == std::vector<std::int32_t>{9, 6, 5, 5, 8, 8, 8, 7});
  CHECK(std::vector<std::int64_t>(indices, indices + 8) == std::vector<std::int64_t>{5, 7, 4, 8, 3, 5, 7, 1});
}

TEST_CASE("an impossible sort is refused with the reason") {
  const auto refusal = [](const SortDescriptor& sort) {
    return lower_request(sort, interpreted_target(IsaLevel::kAvx2), forced("merge_sort_scratch")).status().message();
  };
  const std::string where = "lower 'sort' for cpu:avx2: no algorithm takes it; merge_sort_scratch: sort 'sort': ";
  SortDescriptor sort = descriptor_of({DType::kF32, {2, 8}, 1, 9});
  CHECK(refusal(sort) == where + "k is 9, expected at most 8");
  sort = descriptor_of({DType::kF32, {2, 8}, 1, 4});
  sort.axis = 2;
  CHECK(refusal(sort) == where + "axis 2, expected less than 2");
  sort = descriptor_of({DType::kF32, {2, 8}, 1, 4, false, false, false});
  CHECK(refusal(sort) == where + "neither values nor indices are wanted");
  sort = descriptor_of({DType::kF32, {2, 8}, 1, 4});
  sort.indices->type.dtype = DType::kI32;
  CHECK(refusal(sort) == where + "result 'indices' is i32[2x4], expected i64[2x4]");
}

}  // namespace
}  // namespace millrace
