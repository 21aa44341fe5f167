// SPDX-License-Identifier: Apache-2.0
// Sorts for GPUs, interpreted while the simulator observes them.
#include <doctest/doctest.h>

#include "tests/jit/algorithms/sort/gpu_sort_run.h"

namespace millrace {
namespace {

using test::check_sort;
using test::complaint_of;
using test::lowered_sort;
using test::Pattern;
using test::SortCase;

constexpr const char* kGpus[] = {"gfx1100", "gfx90a"};  // subgroups of 32 and of 64

constexpr std::int64_t kSizes[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 1024, 4096};

TEST_CASE("a workgroup's rows sort stably at every size, in both directions, without findings") {
  for (const char* gfx : kGpus) {
    std::size_t iteration = 0;
    for (const std::int64_t n : kSizes) {
      for (const Pattern pattern : test::kAllPatterns) {
        SortCase test{.extents = {n < 300 ? 5 : 1, n}, .axis = 1, .k = n, .largest = ++iteration % 2 == 0};
        test.pattern = pattern;
        check_sort(test, gfx, "gpu_tile_sort");
      }
    }
  }
}

TEST_CASE("a workgroup's rows of every dtype sort") {
  std::size_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    for (const Pattern pattern : test::kAllPatterns) {
      const std::int64_t n = kSizes[3 + ++iteration % 11];
      SortCase test{.dtype = dtype, .extents = {3, n}, .axis = 1, .k = n, .largest = iteration % 2 == 0};
      test.pattern = pattern;
      check_sort(test, kGpus[iteration / 2 % 2], "gpu_tile_sort");
    }
  }
}

TEST_CASE("a workgroup sorts along any axis, keeps the first k, and writes only the wanted results") {
  for (const char* gfx : kGpus) {
    for (std::uint32_t axis = 0; axis < 3; ++axis) {
      check_sort({.extents = {5, 70, 4}, .axis = axis, .k = 3, .largest = true}, gfx, "gpu_tile_sort");
    }
    for (const int wanted : {1, 2}) {
      SortCase test{.dtype = DType::kI64, .extents = {300, 9}, .axis = 1, .k = 4};
      test.wants_values = wanted == 1;
      test.wants_indices = wanted == 2;
      check_sort(test, gfx, "gpu_tile_sort");
    }
    check_sort({.extents = {0, 40}, .axis = 1, .k = 40}, gfx, "gpu_tile_sort");
  }
}

/// Rows of a size that a run binds.
SortDescriptor dynamic_sort(DType dtype, const Dim& n) {
  SortDescriptor sort = test::descriptor_of({.dtype = dtype, .extents = {3, 1}, .axis = 1, .k = 1});
  const Shape shape{3, n};
  sort.k = n;
  sort.input = {"x", {dtype, shape}, Layout::row_major(shape)};
  sort.values = {"values", {dtype, shape}, Layout::row_major(shape)};
  sort.indices = {"indices", {DType::kI64, shape}, Layout::row_major(shape)};
  return sort;
}

TEST_CASE("a workgroup sorts rows of sizes that a run binds, up to the declared maximum") {
  const KernelSequence sequence = lowered_sort(dynamic_sort(DType::kF32, Dim("n").at_most(200)), "gfx1100");
  CHECK(sequence.algorithm == "gpu_tile_sort");
  for (const std::int64_t n : {0, 1, 7, 64, 200}) {
    CHECK(complaint_of<float>(sequence, {.extents = {3, n}, .axis = 1, .k = n}, {{"n", n}}) == "");
  }
}

TEST_CASE("a workgroup's sort gives the same result in every order of threads and groups") {
  SortCase test{.extents = {9, 65}, .axis = 1, .k = 65};
  const KernelSequence sequence = lowered_sort(test::descriptor_of(test), "gfx1100", "gpu_tile_sort");
  for (std::uint64_t seed = 1; seed <= 200; ++seed) CHECK(complaint_of<float>(sequence, test, {}, seed) == "");
}

TEST_CASE("each mistake in a workgroup's sort is found") {
  std::size_t num_found = 0, num_harmless = 0;
  for (const DType dtype : {DType::kF32, DType::kI64}) {
    for (const std::int64_t n : {20, 200, 700}) {
      SortCase test{.dtype = dtype, .extents = {3, n}, .axis = 1, .k = n / 2};
      test.pattern = Pattern::kTies;
      const KernelSequence sequence = lowered_sort(test::descriptor_of(test), "gfx1100", "gpu_tile_sort");
      const test::Mistakes mistakes = test::find_mistakes(sequence, [&](const KernelSequence& wrong) {
        return dtype == DType::kF32 ? complaint_of<float>(wrong, test) : complaint_of<std::int64_t>(wrong, test);
      });
      num_found += mistakes.num_found;
      num_harmless += mistakes.num_harmless;
    }
  }
  CHECK(num_found == 52);
  CHECK(num_harmless == 2);  // an exchange of packed records that are equal: only those that fill a tile up are
}

TEST_CASE("a workgroup refuses rows that do not fit") {
  const auto refusal = [](const SortDescriptor& sort) {
    return lower_request(sort, test::gpu_target("gfx1100"), test::forced("gpu_tile_sort")).status().message();
  };
  const std::string where = "lower 'sort' for amdgpu:gfx1100: no algorithm lowers it; gpu_tile_sort: rows of ";
  CHECK(refusal(test::descriptor_of({.extents = {2, 4097}, .axis = 1, .k = 1})) ==
        where + "4097 elements, expected at most 4096 per workgroup");
  CHECK(refusal(dynamic_sort(DType::kF32, Dim("n"))) == where + "n elements, expected at most 4096 per workgroup");
  CHECK(lower_request(test::descriptor_of({.extents = {2}, .k = 1}), test::gpu_target("gfx1100"),
                      test::forced("merge_sort"))
            .status()
            .message() ==
        "lower 'sort' for amdgpu:gfx1100: no algorithm lowers it; merge_sort: serves CPUs, not amdgpu:gfx1100");
  CHECK(lower_request(test::descriptor_of({.extents = {2}, .k = 1}), test::interpreted_target(IsaLevel::kAvx2),
                      test::forced("gpu_tile_sort"))
            .status()
            .message() ==
        "lower 'sort' for cpu:avx2: no algorithm lowers it; gpu_tile_sort: serves GPUs, not cpu:avx2");
}

}  // namespace
}  // namespace millrace
