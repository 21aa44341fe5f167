// SPDX-License-Identifier: Apache-2.0
// TopK for GPUs, interpreted while the simulator observes it.
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

TEST_CASE("a subgroup selects a few elements of a row, for every pattern and dtype") {
  std::size_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    for (const Pattern pattern : test::kAllPatterns) {
      constexpr std::int64_t kSizes[] = {1, 2, 31, 33, 64, 65, 100, 256, 257, 512};
      const std::int64_t n = kSizes[++iteration % std::size(kSizes)];
      SortCase test{.dtype = dtype, .extents = {11, n}, .axis = 1, .k = std::min<std::int64_t>(n, 1 + iteration % 16)};
      test.largest = iteration % 2 == 0;
      test.pattern = pattern;
      test.wants_values = iteration % 3 != 0;
      test.wants_indices = iteration % 3 != 1;
      check_sort(test, kGpus[iteration % 2], "gpu_topk_lanes");
    }
  }
}

TEST_CASE("parts of a row keep the first k, for every pattern and dtype" * test::Sliced()) {
  std::size_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    for (const Pattern pattern : test::kAllPatterns) {
      constexpr std::int64_t kSizes[] = {4097, 8000, 8193, 12000};
      constexpr std::int64_t kKept[] = {0, 1, 2, 31, 32, 33, 1000};
      SortCase test{.dtype = dtype, .extents = {2, kSizes[++iteration % 4]}, .axis = 1, .k = kKept[iteration % 7]};
      test.largest = iteration % 2 == 0;
      test.pattern = pattern;
      test.wants_values = iteration % 3 != 0;
      test.wants_indices = iteration % 3 != 1;
      check_sort(test, kGpus[iteration % 2], "gpu_topk_parts");
    }
  }
}

TEST_CASE("the first k of rows of every size are selected along any axis" * test::Sliced()) {
  for (const char* gfx : kGpus) {
    for (const std::int64_t n : {0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 1024, 4096, 32000}) {
      for (const std::int64_t k : {1, 5, 50}) {
        if (k <= n) check_sort({.extents = {1, n}, .axis = 1, .k = k, .largest = true}, gfx);
      }
      check_sort({.extents = {1, n}, .axis = 1, .k = std::min<std::int64_t>(n, 3)}, gfx, "gpu_topk_parts");
    }
    for (std::uint32_t axis = 0; axis < 3; ++axis) {
      check_sort({.extents = {40, 70, 45}, .axis = axis, .k = 3, .largest = true}, gfx, "gpu_topk_lanes");
    }
    check_sort({.extents = {2, 5000, 2}, .axis = 1, .k = 3}, gfx, "gpu_topk_parts");
    check_sort({.extents = {70, 4500}, .axis = 1, .k = 20}, gfx, "gpu_topk_parts");  // rows enough: one kernel
  }
  check_sort({.extents = {100003}, .k = 2000, .largest = true}, "gfx1100");
}

TEST_CASE("each input element is read once, and each kept one once more") {
  struct Row {
    std::vector<std::int64_t> extents;
    std::int64_t k;
    const char* algorithm;
  };
  for (const Row& row : {Row{{1, 32000}, 50, "gpu_topk_parts"}, Row{{64, 256}, 8, "gpu_topk_lanes"}}) {
    const SortCase test{.extents = row.extents, .axis = 1, .k = row.k, .largest = true, .wants_values = false};
    const KernelSequence sequence = lowered_sort(test::descriptor_of(test), "gfx1100");
    CHECK(sequence.algorithm == row.algorithm);
    std::vector<float> input = test::make_input<float>(test);
    const auto num_results = static_cast<std::uint64_t>(row.extents[0] * row.k);
    std::vector<std::int64_t> indices(num_results);
    test::SequenceRun run{.operands = {{input.data(), input.size() * 4}},
                          .results = {{indices.data(), num_results * 8}}};
    const test::TrafficBytes traffic = test::traffic_of(sequence, run);
    CHECK(traffic.operands_loaded == input.size() * 4);
    CHECK(traffic.results_stored == num_results * 8);
    const std::uint64_t kept = sequence.scratch.empty() ? 0 : 8 * num_results * 8;  // of 8 parts, a word each
    CHECK(traffic.scratch_stored == kept);
    CHECK(traffic.scratch_loaded == kept);
  }
}

TEST_CASE("a selection takes rows and k that a run binds" * test::Sliced()) {
  const Dim n("n"), k = Dim("k").at_most(60);
  SortDescriptor sort = test::descriptor_of({.extents = {2, 1}, .axis = 1, .k = 1, .largest = true});
  const Shape shape{2, n}, kept{2, k};
  sort.input = {"x", {DType::kF32, shape}, Layout::row_major(shape)};
  sort.k = k;
  sort.values = {"values", {DType::kF32, kept}, Layout::row_major(kept)};
  sort.indices = {"indices", {DType::kI64, kept}, Layout::row_major(kept)};
  const KernelSequence sequence = lowered_sort(sort, "gfx1100");
  CHECK(sequence.algorithm == "gpu_topk_lanes, gpu_tile_sort, gpu_topk_parts");
  CHECK(sequence.refusals == std::vector<Refusal>{});
  for (const std::int64_t size : {0, 1, 33, 60, 65, 300, 512, 513, 4097, 9000}) {
    for (const std::int64_t count : {0, 1, 16, 17, 60}) {
      if (count > size) continue;
      const SortCase test{.extents = {2, size}, .axis = 1, .k = count, .largest = true};
      CHECK(complaint_of<float>(sequence, test, {{"n", size}, {"k", count}}) == "");
    }
  }
}

TEST_CASE("a run binds the number of rows") {
  struct Row {
    std::int64_t n, k;
    const char* algorithm;
  };
  for (const Row& row : {Row{200, 7, "gpu_topk_lanes"}, Row{40, 40, "gpu_tile_sort"}, Row{5000, 30, "gpu_topk_parts"},
                         Row{4100, 4100, "gpu_radix_sort"}}) {
    const Shape shape{Dim("rows"), row.n}, kept{Dim("rows"), row.k};
    SortDescriptor sort = test::descriptor_of({.dtype = DType::kU8, .extents = {1, row.n}, .axis = 1, .k = row.k});
    sort.input = {"x", {DType::kU8, shape}, Layout::row_major(shape)};
    sort.values = {"values", {DType::kU8, kept}, Layout::row_major(kept)};
    sort.indices = {"indices", {DType::kI64, kept}, Layout::row_major(kept)};
    const KernelSequence sequence = lowered_sort(sort, "gfx90a");
    CHECK(sequence.algorithm == row.algorithm);
    for (const std::int64_t rows : {0, 1, 3}) {
      const SortCase test{.dtype = DType::kU8, .extents = {rows, row.n}, .axis = 1, .k = row.k};
      CHECK(complaint_of<std::uint8_t>(sequence, test, {{"rows", rows}}) == "");
    }
  }
}

TEST_CASE("a selection gives the same result in every order of threads and groups" * test::Sliced()) {
  struct Row {
    const char* algorithm;
    std::int64_t rows, n;
  };
  for (const Row& row :
       {Row{"gpu_topk_lanes", 20, 512}, Row{"gpu_topk_parts", 1, 1000}, Row{"gpu_tile_sort", 1, 1000}}) {
    const SortCase test{.extents = {row.rows, row.n}, .axis = 1, .k = 10};
    const KernelSequence sequence = lowered_sort(test::descriptor_of(test), "gfx1100", row.algorithm);
    for (std::uint64_t seed = 1; seed <= 200; ++seed) CHECK(complaint_of<float>(sequence, test, {}, seed) == "");
  }
}

TEST_CASE("each mistake in a selection is found" * test::Sliced()) {
  struct Row {
    const char* algorithm;
    DType dtype;
    std::int64_t n, k;
    std::size_t num_found;
    /// A sort before memory is full, records that come after the threshold, places that held such ones, and exchanges
    /// of equals: more work, the same results. And bounds of a lane's first elements, which every row has.
    std::size_t num_harmless;
  };
  for (const Row& row :
       {Row{"gpu_topk_lanes", DType::kF32, 70, 3, 7, 2}, Row{"gpu_topk_lanes", DType::kI64, 70, 3, 7, 2},
        Row{"gpu_topk_parts", DType::kF32, 9000, 600, 30, 10}, Row{"gpu_topk_parts", DType::kI64, 9000, 600, 36, 6}}) {
    SortCase test{.dtype = row.dtype, .extents = {2, row.n}, .axis = 1, .k = row.k, .pattern = Pattern::kDescending};
    const KernelSequence sequence = lowered_sort(test::descriptor_of(test), "gfx1100", row.algorithm);
    const test::Mistakes mistakes = test::find_mistakes(sequence, [&](const KernelSequence& wrong) {
      return row.dtype == DType::kF32 ? complaint_of<float>(wrong, test) : complaint_of<std::int64_t>(wrong, test);
    });
    CHECK(mistakes.num_found == row.num_found);
    CHECK(mistakes.num_harmless == row.num_harmless);
  }
}

TEST_CASE("a k beyond workgroup memory is refused with numbers, and passes over scratch are chosen") {
  const Shape shape{2, Dim("n")}, kept{2, 2000};  // records of 16 bytes: no i32 counts n
  SortDescriptor sort = test::descriptor_of({.extents = {2, 1}, .axis = 1, .k = 1});
  sort.k = 2000;
  sort.input = {"x", {DType::kI64, shape}, Layout::row_major(shape)};
  sort.values = {"values", {DType::kI64, kept}, Layout::row_major(kept)};
  sort.indices.reset();
  const KernelSequence sequence = lowered_sort(sort, "gfx1100");
  CHECK(sequence.algorithm == "gpu_tile_sort, gpu_topk_parts, gpu_topk_select");
  REQUIRE(sequence.refusals.size() == 2);
  CHECK(
      sequence.refusals[1] ==
      Refusal{"gpu_topk_parts",
              "kernel sort: no generator of amdgpu:gfx1100 supports it:\n  llvm: sort: 65540 bytes of workgroup memory "
              "planned, amdgpu:gfx1100 has 64 KiB"});
}

TEST_CASE("a selection refuses a k that does not fit") {
  const auto refusal = [](const SortCase& test, const std::string& algorithm) {
    return lower_request(test::descriptor_of(test), test::gpu_target("gfx90a"), test::forced(algorithm))
        .status()
        .message();
  };
  const std::string where = "lower 'sort' for amdgpu:gfx90a: no algorithm lowers it; ";
  CHECK(refusal({.extents = {5000}, .k = 17}, "gpu_topk_lanes") ==
        where +
            "gpu_topk_lanes: the first 17 of 5000 elements per row, expected at most 16 of at most 1024 per "
            "subgroup");
  CHECK(refusal({.extents = {5000}, .k = 2049}, "gpu_topk_parts") ==
        where + "gpu_topk_parts: the first 2049 of a row, expected at most 2048 per workgroup");
}

TEST_CASE("a selection refuses a row that fits a subgroup, because a sort is as fast") {
  for (const auto& [gfx, reason] :
       {std::pair{"gfx1100", "rows of 32 elements, expected more than the 32 that a subgroup sorts at once"},
        std::pair{"gfx90a", "rows of 32 elements, expected more than the 64 that a subgroup sorts at once"}}) {
    const KernelSequence sequence = lowered_sort(test::descriptor_of({.extents = {9, 32}, .axis = 1, .k = 3}), gfx);
    CHECK(sequence.algorithm == "gpu_tile_sort");
    CHECK(sequence.refusals == std::vector<Refusal>{{"gpu_topk_lanes", reason}});
  }
}

}  // namespace
}  // namespace millrace
