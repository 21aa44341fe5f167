// SPDX-License-Identifier: Apache-2.0
// Mistakes injected into sorts, selections and scans for subgroups of 64, and into the bounds of loops also for 32.
#include <doctest/doctest.h>

#include "tests/jit/algorithms/scan/gpu_scan_run.h"
#include "tests/jit/algorithms/sort/gpu_sort_run.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::Mistakes;
using test::Pattern;
using test::ScanCase;
using test::SortCase;

/// Found and harmless ones.
std::string to_text(const Mistakes& mistakes) {
  return std::to_string(mistakes.num_found) + " found, " + std::to_string(mistakes.num_harmless) + " harmless";
}

struct SortRow {
  const char* algorithm;
  SortCase test;
  const char* of_64;  // but for loops
  const char* loops_of_32;
  const char* loops_of_64;
};

TEST_CASE("each mistake in a sort or a selection is found with subgroups of 64, and in its loops with 32" *
          test::Sliced()) {
  // Harmless are exchanges of equals, sorts before memory is full, steps past the end that masks leave out, and bounds
  // of a radix sort's sums over fewer blocks than a workgroup has threads.
  const SortRow rows[] = {
      {"gpu_tile_sort",
       {.extents = {3, 200}, .axis = 1, .k = 100},
       "10 found, 1 harmless",
       "9 found, 1 harmless",
       "9 found, 1 harmless"},
      {"gpu_topk_lanes",
       {.extents = {2, 130}, .axis = 1, .k = 3, .pattern = Pattern::kDescending},
       "7 found, 2 harmless",
       "1 found, 1 harmless",
       "1 found, 1 harmless"},
      {"gpu_topk_parts",
       {.extents = {2, 9000}, .axis = 1, .k = 600, .pattern = Pattern::kDescending},
       "30 found, 10 harmless",
       "25 found, 7 harmless",
       "24 found, 8 harmless"},
      {"gpu_radix_sort",
       {.extents = {2, 5000}, .axis = 1, .k = 2500},
       "90 found, 12 harmless",
       "28 found, 4 harmless",
       "28 found, 4 harmless"},
  };
  for (const SortRow& row : rows) {
    CAPTURE(row.algorithm);
    const auto complaint = [&](const KernelSequence& wrong) { return test::complaint_of<float>(wrong, row.test); };
    const auto lowered = [&](const char* gfx) {
      return test::lowered_sort(test::descriptor_of(row.test), gfx, row.algorithm);
    };
    CHECK(to_text(test::find_mistakes(lowered("gfx90a"), complaint)) == row.of_64);
    CHECK(to_text(test::find_loop_mistakes(lowered("gfx1100"), complaint)) == row.loops_of_32);
    CHECK(to_text(test::find_loop_mistakes(lowered("gfx90a"), complaint)) == row.loops_of_64);
  }
}

struct ScanRow {
  const char* algorithm;
  ScanCase test;
  const char* of_64;
  const char* loops_of_32;
  const char* loops_of_64;
};

TEST_CASE("each mistake in a scan is found with subgroups of 64, and in its loops with 32") {
  // Harmless are steps past the end that masks leave out.
  const ScanRow rows[] = {
      {"gpu_scan_rows",
       {.dtype = DType::kI32, .extents = {2, 17000}, .axis = 1},
       "7 found, 0 harmless",
       "1 found, 1 harmless",
       "1 found, 1 harmless"},
      {"gpu_scan_pieces",
       {.dtype = DType::kI32, .extents = {2, 17000}, .axis = 1},
       "16 found, 0 harmless",
       "3 found, 3 harmless",
       "3 found, 3 harmless"},
      {"gpu_scan_columns",
       {.dtype = DType::kI32, .extents = {50, 257}},
       "2 found, 0 harmless",
       "2 found, 0 harmless",
       "2 found, 0 harmless"},
  };
  for (const ScanRow& row : rows) {
    CAPTURE(row.algorithm);
    const auto complaint = [&](const KernelSequence& wrong) {
      return test::complaint_of<std::int32_t>(wrong, row.test);
    };
    const auto lowered = [&](const char* gfx) {
      return test::lowered_scan(test::descriptor_of(row.test), gfx, row.algorithm);
    };
    CHECK(to_text(test::find_mistakes(lowered("gfx90a"), complaint)) == row.of_64);
    CHECK(to_text(test::find_loop_mistakes(lowered("gfx1100"), complaint)) == row.loops_of_32);
    CHECK(to_text(test::find_loop_mistakes(lowered("gfx90a"), complaint)) == row.loops_of_64);
  }
}

}  // namespace
}  // namespace millrace
