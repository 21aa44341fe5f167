// SPDX-License-Identifier: Apache-2.0
// The sorts of CPUs, with their records in workgroup memory and in scratch.
#include <algorithm>

#include <doctest/doctest.h>

#include "tests/jit/algorithms/sort/cpu_sort_run.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::check_sort;
using test::check_sort_of_dtype;
using test::forced;
using test::interpreted_target;

using test::descriptor_of;
using test::Pattern;
using test::SortCase;

constexpr const char* kAlgorithms[] = {"merge_sort", "radix_sort"};

TEST_CASE("every dtype and pattern sorts stably, NaN greatest, in both directions") {
  for (const DType dtype : kAllDTypes) {
    for (const Pattern pattern : test::kAllPatterns) {
      for (const bool largest : {false, true}) {
        SortCase test{dtype, {2, 33}, 1, 33, largest};
        test.pattern = pattern;
        for (const char* algorithm : kAlgorithms) check_sort_of_dtype(test, algorithm);
      }
    }
  }
}

TEST_CASE("rows of any axis and size sort, for any k and each subset of wanted results") {
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

TEST_CASE("rows long enough for digits of 11 bits, and rows with records beyond workgroup memory, sort" *
          test::Sliced()) {
  for (const DType dtype : {DType::kU16, DType::kF32, DType::kF64}) {
    for (const Pattern pattern : {Pattern::kRandom, Pattern::kEqual, Pattern::kSpecial}) {
      for (const std::int64_t n : {4095, 4096, 70'000}) {
        SortCase test{dtype, {1, n}, 1, n, n == 4096};
        test.pattern = pattern;
        check_sort_of_dtype(test, "radix_sort");
        if (n == 70'000) check_sort_of_dtype(test, "merge_sort");
      }
    }
  }
}

TEST_CASE("the radix sort takes long rows, for a small or a large k") {
  const Target target = interpreted_target(IsaLevel::kAvx2);
  const auto algorithm_of = [&](std::int64_t n, std::int64_t k) {
    return lower_request(descriptor_of({DType::kF32, {2, n}, 1, k}), target, forced("")).value().algorithm;
  };
  CHECK(algorithm_of(63, 63) == "merge_sort");
  CHECK(algorithm_of(64, 64) == "radix_sort");
  CHECK(algorithm_of(64, 16) == "radix_sort");
  CHECK(algorithm_of(64, 15) == "topk_heap");
  const Result<KernelSequence> sequence =
      lower_request(descriptor_of({DType::kF32, {2, 63}, 1, 63}), target, forced(""));
  REQUIRE(sequence->refusals.size() == 4);
  CHECK(sequence->refusals[3] == Refusal{"radix_sort", "rows of 63 elements, expected at least 64 to pay off"});
}

TEST_CASE("a network sorts short rows of every dtype, pattern and layout, for any k") {
  for (const DType dtype : kAllDTypes) {
    for (const Pattern pattern : test::kAllPatterns) {
      for (const std::int64_t n : {0, 1, 2, 3, 7, 8, 15}) {
        const bool largest = n % 2 == 0;
        // Rows that are neighbours in another dim: fewer than lanes, a vector of them and more, and in two dims.
        for (const auto& [extents, axis] : std::vector<std::pair<std::vector<std::int64_t>, std::uint32_t>>{
                 {{19, n}, 1}, {{n, 19}, 0}, {{3, n}, 1}, {{3, n, 5}, 1}, {{2, 9, n}, 2}, {{n}, 0}}) {
          SortCase test{dtype, extents, axis, n, largest};
          test.pattern = pattern;
          check_sort_of_dtype(test, "row_network");
        }
      }
    }
  }
  for (const std::int64_t k : {0, 1, 2, 5, 6}) {
    for (const int wanted : {1, 2, 3}) {
      check_sort<float>({DType::kF32, {9, 6}, 1, k, true, (wanted & 1) != 0, (wanted & 2) != 0}, "row_network");
      check_sort<double>({DType::kF64, {6, 9}, 0, k, false, (wanted & 1) != 0, (wanted & 2) != 0}, "row_network");
    }
  }
}

TEST_CASE("a network is chosen for rows of up to 15 elements, if the size is constant") {
  const auto algorithm_of = [&](const SortCase& test, IsaLevel isa) {
    return lower_request(descriptor_of(test), interpreted_target(isa), forced("")).value().algorithm;
  };
  for (const IsaLevel isa : {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    CHECK(algorithm_of({DType::kF32, {100, 15}, 1, 15}, isa) == "row_network");
    CHECK(algorithm_of({DType::kF32, {15, 100}, 0, 3}, isa) == "row_network");
    CHECK(algorithm_of({DType::kF32, {100, 16}, 1, 16}, isa) != "row_network");
    SortCase values{DType::kF32, {100, 8}, 1, 8};
    values.wants_indices = false;
    CHECK((algorithm_of(values, isa) == "row_network") == (isa != IsaLevel::kAvx2));
  }
  const auto refusal = lower_request(descriptor_of({DType::kF32, {2, 16}, 1, 9}), interpreted_target(IsaLevel::kAvx2),
                                     forced("row_network"));
  CHECK(refusal.status().message() ==
        "lower 'sort' for cpu:avx2: no algorithm lowers it; row_network: the first 9 of 16 elements per row, "
        "expected constant sizes and at most 15 elements");
}

TEST_CASE("values of 8 and 16 bits are counted, for every pattern, and zeros and NaNs keep their bits and order") {
  for (const DType dtype : kAllDTypes) {
    if (size_bytes(dtype) > 2) continue;
    for (const Pattern pattern : test::kAllPatterns) {
      for (const std::int64_t n : {0, 1, 3, 4, 700}) {
        for (const std::int64_t k : {n, n / 2}) {
          SortCase test{dtype, {2, n}, 1, k, n % 2 == 0};
          test.pattern = pattern;
          test.wants_indices = false;
          check_sort_of_dtype(test, "counting_sort");
        }
      }
      SortCase columns{dtype, {300, 2}, 0, 300, true};
      columns.pattern = pattern;
      columns.wants_indices = false;
      check_sort_of_dtype(columns, "counting_sort");
    }
  }
}

TEST_CASE("bools sort, false first") {
  bool x[600], counted[600];
  for (std::size_t i = 0; i < std::size(x); ++i) x[i] = i % 3 == 0;
  SortCase row{DType::kBool, {600}, 0, 600};
  row.wants_indices = false;
  const Result<KernelSequence> counting =
      lower_request(descriptor_of(row), interpreted_target(IsaLevel::kAvx512), forced("counting_sort"));
  REQUIRE(counting.status().message() == "");
  CHECK(test::run_sequence(*counting, {x}, {counted}, {}) == 0);
  CHECK(std::count(counted, counted + 400, false) == 400);
  CHECK(std::count(counted + 400, counted + 600, true) == 200);
  for (const char* algorithm : {"merge_sort", "radix_sort", "row_network"}) {
    SortCase test{DType::kBool, {6}, 0, 6};
    const Result<KernelSequence> sequence =
        lower_request(descriptor_of(test), interpreted_target(IsaLevel::kAvx512), forced(algorithm));
    REQUIRE(sequence.status().message() == "");
    bool x[] = {true, false, true, true, false, false}, values[6];
    std::int64_t indices[6];
    CHECK(test::run_sequence(*sequence, {x}, {values, indices}, {}) == 0);
    CHECK(std::vector<bool>(values, values + 6) == std::vector<bool>{false, false, false, true, true, true});
    CHECK(std::vector<std::int64_t>(indices, indices + 6) == std::vector<std::int64_t>{1, 4, 5, 0, 2, 3});
  }
}

TEST_CASE("rows and k that a run binds take scratch") {
  SortDescriptor sort = descriptor_of({DType::kI32, {2, 9}, 1, 4, true});
  const Dim n = Dim("n").at_least(1), k = Dim("k").at_most(100);
  const Shape shape{2, n}, kept{2, k};
  sort.input = {"x", {DType::kI32, shape}, Layout::row_major(shape)};
  sort.k = k;
  sort.values = {"values", {DType::kI32, kept}, Layout::row_major(kept)};
  sort.indices = {"indices", {DType::kI64, kept}, Layout::row_major(kept)};
  for (const char* algorithm : kAlgorithms) {
    const Result<KernelSequence> sequence = lower_request(sort, interpreted_target(IsaLevel::kAvx2), forced(algorithm));
    REQUIRE(sequence.status().message() == "");
    REQUIRE(sequence->scratch.size() == 2);  // keys, and indices of i64
    std::int32_t x[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 2, 7, 1, 8, 2, 8, 1, 8, 2}, values[8];
    std::int64_t indices[8];
    CHECK(test::run_sequence(*sequence, {x}, {values, indices}, {{"n", 9}, {"k", 4}}) == 0);
    CHECK(std::vector<std::int32_t>(values, values + 8) == std::vector<std::int32_t>{9, 6, 5, 5, 8, 8, 8, 7});
    CHECK(std::vector<std::int64_t>(indices, indices + 8) == std::vector<std::int64_t>{5, 7, 4, 8, 3, 5, 7, 1});
  }
}

TEST_CASE("an impossible sort is refused with the reason") {
  const auto refusal = [](const SortDescriptor& sort) {
    return lower_request(sort, interpreted_target(IsaLevel::kAvx2), forced("merge_sort")).status().message();
  };
  const std::string where = "lower 'sort' for cpu:avx2: no algorithm lowers it; merge_sort: sort 'sort': ";
  SortDescriptor sort = descriptor_of({DType::kF32, {2, 8}, 1, 9});
  CHECK(refusal(sort) == where + "k is 9, expected at most 8");
  sort = descriptor_of({DType::kF32, {2, 8}, 1, 4});
  sort.axis = 2;
  CHECK(refusal(sort) == where + "axis 2, expected less than 2");
  sort = descriptor_of({DType::kF32, {2, 8}, 1, 4, false, false, false});
  CHECK(refusal(sort) == where + "neither values nor indices are requested");
  sort = descriptor_of({DType::kF32, {2, 8}, 1, 4});
  sort.indices->type.dtype = DType::kI32;
  CHECK(refusal(sort) == where + "result 'indices' is i32[2x4], expected i64[2x4]");
}

}  // namespace
}  // namespace millrace
