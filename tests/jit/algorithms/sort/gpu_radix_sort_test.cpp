// SPDX-License-Identifier: Apache-2.0
// Radix sorts for GPUs, interpreted while the simulator observes them.
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
constexpr const char* kRadix = "gpu_radix_sort";

TEST_CASE("a radix sort is stable at every size, in both directions" * test::Sliced()) {
  std::size_t iteration = 0;
  for (const char* gfx : kGpus) {
    for (const std::int64_t n : {0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 1024, 4095, 4096, 4097, 8000}) {
      SortCase test{.extents = {2, n}, .axis = 1, .k = n, .largest = ++iteration % 2 == 0};
      test.pattern = test::kAllPatterns[iteration % std::size(test::kAllPatterns)];
      check_sort(test, gfx, kRadix);
    }
  }
  check_sort({.extents = {32000}, .k = 32000}, "gfx1100");
  check_sort({.extents = {100003}, .k = 100003, .largest = true, .pattern = Pattern::kRandom}, "gfx90a");
}

TEST_CASE("a radix sort takes every dtype and pattern" * test::Sliced()) {
  std::size_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    for (const Pattern pattern : test::kAllPatterns) {
      const std::int64_t n = ++iteration % 5 == 0 ? 4500 : 700;
      SortCase test{.dtype = dtype, .extents = {1, n}, .axis = 1, .k = n, .largest = iteration % 2 == 0};
      test.pattern = pattern;
      test.wants_values = iteration % 3 != 0;
      test.wants_indices = iteration % 3 != 1;
      check_sort(test, kGpus[iteration / 2 % 2], kRadix);
    }
  }
}

TEST_CASE("a radix sort keeps the first k, along any axis, of rows that a run binds" * test::Sliced()) {
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    check_sort({.dtype = DType::kI16, .extents = {3, 5, 4}, .axis = axis, .k = 3, .largest = true}, "gfx1100", kRadix);
  }
  check_sort({.extents = {9000}, .k = 5000, .largest = true}, "gfx90a");
  check_sort({.extents = {0, 40}, .axis = 1, .k = 40}, "gfx1100", kRadix);
  const Dim n("n");
  SortDescriptor sort = test::descriptor_of({.extents = {2, 1}, .axis = 1, .k = 1});
  const Shape shape{2, n};
  sort.k = n;
  sort.input = {"x", {DType::kF32, shape}, Layout::row_major(shape)};
  sort.values = {"values", {DType::kF32, shape}, Layout::row_major(shape)};
  sort.indices = {"indices", {DType::kI64, shape}, Layout::row_major(shape)};
  const KernelSequence sequence = lowered_sort(sort, "gfx1100");
  CHECK(sequence.algorithm == "gpu_tile_sort, gpu_radix_sort");
  CHECK(sequence.refusals ==
        std::vector<Refusal>{
            {"gpu_topk_lanes", "the first n of n elements per row, expected at most 16 of at most 512 per subgroup"},
            {"gpu_topk_select", "the first n of n elements per row, expected at most a quarter of them to pay off"}});
  for (const std::int64_t size : {0, 1, 2, 33, 512, 513, 4096, 4097, 140000}) {
    CHECK(complaint_of<float>(sequence, {.extents = {2, size}, .axis = 1, .k = size}, {{"n", size}}) == "");
  }
}

TEST_CASE("a pass of a radix sort reads elements twice and writes them once") {
  const std::uint64_t n = 50000;
  SortCase test{.extents = {static_cast<std::int64_t>(n)}, .k = static_cast<std::int64_t>(n), .wants_indices = false};
  const KernelSequence sequence = lowered_sort(test::descriptor_of(test), "gfx1100");
  CHECK(sequence.kernels.size() == 4 * 3);  // of 8 bits each
  std::vector<float> input = test::make_input<float>(test), values(n);
  const test::SequenceRun run{.operands = {{input.data(), n * 4}}, .results = {{values.data(), n * 4}}};
  const test::TrafficBytes traffic = test::traffic_of(sequence, run);
  const std::uint64_t blocks = (n + 4095) / 4096;
  const std::uint64_t counts = 4 * 256 * blocks * 4;         // of all passes, each counted once
  const std::uint64_t totals_loaded = 4 * 256 * blocks * 4;  // by each block
  CHECK(traffic.operands_loaded == 2 * n * 4);
  CHECK(traffic.results_stored == n * 4);
  CHECK(traffic.scratch_loaded == 3 * 2 * n * 4 + 2 * counts + totals_loaded);
  CHECK(traffic.scratch_stored == 3 * n * 4 + 2 * counts + 4 * 256 * 4);
}

TEST_CASE("a radix sort gives the same result in every order of threads and groups") {
  const SortCase test{.dtype = DType::kI8, .extents = {1, 1000}, .axis = 1, .k = 1000};
  const KernelSequence sequence = lowered_sort(test::descriptor_of(test), "gfx1100", kRadix);
  for (std::uint64_t seed = 1; seed <= 200; ++seed) CHECK(complaint_of<std::int8_t>(sequence, test, {}, seed) == "");
}

TEST_CASE("each mistake in counting and moving elements is found") {
  const SortCase test{.dtype = DType::kI16, .extents = {2, 5000}, .axis = 1, .k = 2500};
  const KernelSequence sequence = lowered_sort(test::descriptor_of(test), "gfx1100", kRadix);
  REQUIRE(sequence.kernels.size() == 6);
  std::size_t num_found = 0, num_harmless = 0;
  for (const std::size_t kernel : {0, 2, 3, 5}) {
    const test::Mistakes mistakes = test::find_mistakes(
        sequence, kernel, [&](const KernelSequence& wrong) { return complaint_of<std::int16_t>(wrong, test); });
    num_found += mistakes.num_found;
    num_harmless += mistakes.num_harmless;
  }
  CHECK(num_found == 44);
  CHECK(num_harmless == 0);
}

/// Runs the scan alone, with counts of its own.
std::string complaint_of_scan(const KernelSequence& sequence, std::size_t num_blocks) {
  std::vector<std::int32_t> counts(256 * num_blocks), totals(256);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = static_cast<std::int32_t>(i * 7 % 13);
  std::vector<std::int32_t> expected = counts, expected_totals(256);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    expected[i] = expected_totals[i / num_blocks];
    expected_totals[i / num_blocks] += counts[i];
  }
  const std::string finding = test::finding_in(
      sequence, {.operands = {}, .results = {{counts.data(), counts.size() * 4}, {totals.data(), totals.size() * 4}}});
  if (!finding.empty()) return finding;
  return counts == expected && totals == expected_totals ? "" : "sums are wrong";
}

/// Each mistake in the kernel that sums the counts of `num_blocks` blocks.
void check_mistakes_of_scan(std::size_t num_blocks, std::size_t num_mistakes) {
  const auto n = static_cast<std::int64_t>(num_blocks) * 4096;
  const SortCase test{.dtype = DType::kI8, .extents = {n}, .k = n};
  KernelSequence sequence = lowered_sort(test::descriptor_of(test), "gfx1100", kRadix);
  sequence.kernels = {sequence.kernels[1]};
  using Kind = SequenceOperand::Kind;
  sequence.kernels[0].buffers = {{Kind::kResult, 0}, {Kind::kResult, 1}};
  CHECK(complaint_of_scan(sequence, num_blocks) == "");
  const test::Mistakes mistakes =
      test::find_mistakes(sequence, [&](const KernelSequence& wrong) { return complaint_of_scan(wrong, num_blocks); });
  CHECK(mistakes.num_found == num_mistakes);
  CHECK(mistakes.num_harmless == 0);
}

TEST_CASE("each mistake in summing counts is found") {
  check_mistakes_of_scan(257, 8);  // more than a workgroup sums up at a time
  check_mistakes_of_scan(3, 4);    // fewer than a subgroup does
}

}  // namespace
}  // namespace millrace
