// SPDX-License-Identifier: Apache-2.0
// TopK with a large k by the digits of the keys, interpreted while the simulator observes it.
#include <doctest/doctest.h>

#include "tests/jit/algorithms/sort/gpu_sort_run.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::check_sort;
using test::complaint_of;
using test::lowered_sort;
using test::Pattern;
using test::SortCase;

constexpr const char* kGpus[] = {"gfx1100", "gfx90a"};  // subgroups of 32 and of 64
constexpr const char* kSelect = "gpu_topk_select";

TEST_CASE("the first k of rows of every size are selected, sorted and unsorted" * test::Sliced()) {
  std::size_t iteration = 0;
  for (const char* gfx : kGpus) {
    for (const std::int64_t n : {0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 1024, 4095, 4096, 4097, 8000}) {
      for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, n / 2, n}) {
        if (k > n) continue;
        SortCase test{.extents = {2, n}, .axis = 1, .k = k, .largest = ++iteration % 2 == 0};
        test.pattern = test::kAllPatterns[iteration % std::size(test::kAllPatterns)];
        test.sorted = iteration / 2 % 2 == 0;
        check_sort(test, gfx, kSelect);
      }
    }
  }
  check_sort({.extents = {32000}, .k = 5000}, "gfx1100");
  check_sort({.extents = {100003}, .k = 3000, .largest = true, .pattern = Pattern::kRandom}, "gfx90a");
}

TEST_CASE("a selection takes every dtype and pattern, and may give only one of its results" * test::Sliced()) {
  std::size_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    for (const Pattern pattern : test::kAllPatterns) {
      const std::int64_t n = ++iteration % 5 == 0 ? 4500 : 700;
      SortCase test{.dtype = dtype, .extents = {2, n}, .axis = 1, .k = n / 3, .largest = iteration % 2 == 0};
      test.pattern = pattern;
      test.wants_values = iteration % 3 != 0;
      test.wants_indices = iteration % 3 != 1;
      test.sorted = iteration / 3 % 2 == 0;
      check_sort(test, kGpus[iteration / 2 % 2], kSelect);
    }
  }
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    check_sort({.dtype = DType::kI16, .extents = {3, 5, 4}, .axis = axis, .k = 3, .largest = true}, "gfx1100", kSelect);
  }
  check_sort({.extents = {0, 40}, .axis = 1, .k = 10}, "gfx1100", kSelect);
}

TEST_CASE("a selection by digits takes rows and k that a run binds") {
  const Dim n("n"), k = Dim("k").at_most(5000);
  SortDescriptor sort = test::descriptor_of({.extents = {2, 1}, .axis = 1, .k = 1, .largest = true});
  const Shape shape{2, n}, kept{2, k};
  sort.input = {"x", {DType::kF32, shape}, Layout::row_major(shape)};
  sort.k = k;
  sort.values = {"values", {DType::kF32, kept}, Layout::row_major(kept)};
  sort.indices = {"indices", {DType::kI64, kept}, Layout::row_major(kept)};
  const KernelSequence sequence = lowered_sort(sort, "gfx1100");
  CHECK(sequence.algorithm == "gpu_topk_lanes, gpu_tile_sort, gpu_topk_parts, gpu_topk_select");
  CHECK(sequence.refusals == std::vector<Refusal>{});
  for (const std::int64_t size : {0, 1, 4097, 9000}) {
    for (const std::int64_t count : {0, 1, 2049, 4500}) {
      if (count > size) continue;
      const SortCase test{.extents = {2, size}, .axis = 1, .k = count, .largest = true};
      CHECK(complaint_of<float>(sequence, test, {{"n", size}, {"k", count}}) == "");
    }
  }
}

TEST_CASE("a selection reads its input once per digit and twice more, and sorts only the selected elements") {
  const std::uint64_t n = 50000, k = 3000, blocks = (n + 4095) / 4096;
  SortCase test{.extents = {static_cast<std::int64_t>(n)}, .k = static_cast<std::int64_t>(k)};
  test.pattern = Pattern::kRandom;
  for (const bool sorted : {true, false}) {
    test.sorted = sorted;
    test.wants_indices = false;
    const KernelSequence sequence = lowered_sort(test::descriptor_of(test), "gfx1100");
    CHECK(sequence.algorithm == kSelect);
    CHECK(sequence.kernels.size() == 1 + 4 * 2 + 3 + (sorted ? 4 * 3 : 0));
    std::vector<std::string> names;
    for (const SequenceScratch& scratch : sequence.scratch) names.push_back(scratch.name);
    const std::vector<std::string> of_search{"counts", "totals", "thresholds", "ranks"};
    CHECK(std::vector(names.begin(), names.begin() + 4) == of_search);
    CHECK(names.size() == (sorted ? 6 : 4));  // no index is kept, and without a sort no element
    std::vector<float> input = test::make_input<float>(test), values(k);
    const test::SequenceRun run{.operands = {{input.data(), n * 4}}, .results = {{values.data(), k * 4}}};
    const test::TrafficBytes traffic = test::traffic_of(sequence, run);
    CHECK(traffic.operands_loaded == 6 * n * 4);
    CHECK(traffic.results_stored == k * 4);
    CHECK(traffic.scratch_loaded < n + 8 * k * 4 + (sorted ? 60 : 20) * 256 * 4 + blocks * 1024);
  }
}

TEST_CASE("a selection by digits gives the same result in every order of threads and groups" * test::Sliced()) {
  SortCase test{.dtype = DType::kI16, .extents = {1, 1000}, .axis = 1, .k = 300};
  for (const bool sorted : {true, false}) {
    test.sorted = sorted;
    const KernelSequence sequence = lowered_sort(test::descriptor_of(test), "gfx1100", kSelect);
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      CHECK(complaint_of<std::int16_t>(sequence, test, {}, seed) == "");
    }
  }
}

TEST_CASE("each mistake in finding the k-th key and choosing up to it is found") {
  SortCase test{.dtype = DType::kI16, .extents = {2, 5000}, .axis = 1, .k = 1200, .sorted = false};
  test.pattern = Pattern::kDescending;
  const KernelSequence sequence = lowered_sort(test::descriptor_of(test), "gfx1100", kSelect);
  REQUIRE(sequence.kernels.size() == 1 + 2 * 2 + 3);
  std::size_t num_found = 0, num_harmless = 0;
  for (std::size_t kernel = 0; kernel < sequence.kernels.size(); ++kernel) {
    if (kernel == 6) continue;  // the sums of counts: a radix sort's, and tried there
    const test::Mistakes mistakes = test::find_mistakes(
        sequence, kernel, [&](const KernelSequence& wrong) { return complaint_of<std::int16_t>(wrong, test); });
    num_found += mistakes.num_found;
    num_harmless += mistakes.num_harmless;
  }
  CHECK(num_found == 54);
  CHECK(num_harmless == 5);  // counts of 0 that are added, too, and totals of no digit, which stand behind all
}

TEST_CASE("a selection gives the reason if a full sort is faster") {
  const auto refused = [](const SortCase& test) {
    const KernelSequence sequence = lowered_sort(test::descriptor_of(test), "gfx1100");
    CHECK(sequence.algorithm == "gpu_radix_sort");
    REQUIRE(sequence.refusals.size() == 4);
    return sequence.refusals[3];
  };
  CHECK(refused({.extents = {9999}, .k = 2500}) ==
        Refusal{kSelect, "the first 2500 of 9999 elements per row, expected at most a quarter of them to pay off"});
  CHECK(refused({.dtype = DType::kU8, .extents = {40000}, .k = 2500}) ==
        Refusal{kSelect, "keys have 8 bits, expected more; one pass of a sort is enough"});
}

}  // namespace
}  // namespace millrace
