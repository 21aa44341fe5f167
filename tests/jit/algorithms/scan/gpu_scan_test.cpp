// SPDX-License-Identifier: Apache-2.0
// Scans for GPUs, interpreted while the simulator observes them.
#include <doctest/doctest.h>

#include "tests/jit/algorithms/scan/gpu_scan_run.h"

namespace millrace {
namespace {

using test::check_scan;
using test::complaint_of;
using test::descriptor_of;
using test::lowered_scan;
using test::make_input;
using test::ScanCase;

constexpr const char* kGpus[] = {"gfx1100", "gfx90a"};  // subgroups of 32 and of 64

constexpr std::int64_t kSizes[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 1024, 4096, 8000, 32000};
constexpr const char* kAlgorithms[] = {"gpu_scan_rows", "gpu_scan_pieces"};
constexpr ReductionKind kKinds[] = {ReductionKind::kSum, ReductionKind::kProd, ReductionKind::kMin,
                                    ReductionKind::kMax};

TEST_CASE("rows of every size scan, in both directions, with and without their own element") {
  std::uint32_t iteration = 0;
  for (const char* gfx : kGpus) {
    for (const std::int64_t n : kSizes) {
      for (const char* algorithm : kAlgorithms) {
        ++iteration;
        check_scan({.extents = {n < 300 ? 5 : 2, n},
                    .axis = 1,
                    .kind = kKinds[iteration / 2 % 4],
                    .exclusive = iteration % 3 == 0,
                    .reverse = iteration % 5 == 0},
                   gfx, algorithm);
      }
    }
  }
  check_scan({.extents = {100003}}, "gfx1100", "");
}

TEST_CASE("rows of every dtype scan by every reduction") {
  std::uint32_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    if (dtype == DType::kBool) continue;
    for (const ReductionKind kind : kKinds) {
      ++iteration;
      check_scan({.dtype = dtype,
                  .extents = {3, kSizes[2 + iteration % 14]},
                  .axis = 1,
                  .kind = kind,
                  .exclusive = iteration % 2 == 0,
                  .reverse = iteration % 4 == 1},
                 kGpus[iteration % 2], kAlgorithms[iteration / 2 % 2]);
    }
  }
}

TEST_CASE("a scan takes any axis, and no rows at all") {
  for (const char* gfx : kGpus) {
    for (const char* algorithm : kAlgorithms) {
      for (std::uint32_t axis = 0; axis < 3; ++axis) {
        check_scan({.dtype = DType::kI32, .extents = {5, 70, 4}, .axis = axis}, gfx, algorithm);
        check_scan({.dtype = DType::kI32, .extents = {5, 3, 4}, .axis = axis, .reverse = true}, gfx, algorithm);
      }
      check_scan({.extents = {0, 40}, .axis = 1}, gfx, algorithm);
    }
  }
}

TEST_CASE("long rows of sizes that a run binds are cut into pieces") {
  const Dim n("n");
  const ScanCase test{.dtype = DType::kI32, .extents = {2, 0}, .axis = 1};
  const KernelSequence sequence = lowered_scan(descriptor_of(test, {2, n}), "gfx1100");
  CHECK(sequence.algorithm == "gpu_scan_rows, gpu_scan_pieces");
  CHECK(sequence.refusals ==
        std::vector<Refusal>{
            {"gpu_scan_columns", "2 rows whose elements are 1 apart, expected at least 1024 rows side by side"}});
  CHECK(lowered_scan(descriptor_of(test, {2, 9000}), "gfx1100").refusals.back() ==
        Refusal{"gpu_scan_rows", "2 rows of 9000 elements, expected at most 8192 elements, or at least 256 rows"});
  CHECK(lowered_scan(descriptor_of(test, {20, 2000}), "gfx1100").algorithm == "gpu_scan_rows");
  ScanDescriptor columns = descriptor_of(test, {20, 2000});
  columns.axis = 0;
  CHECK(lowered_scan(columns, "gfx1100").algorithm == "gpu_scan_columns");
  columns = descriptor_of({.extents = {20, 200}});
  CHECK(lowered_scan(columns, "gfx1100").refusals ==
        std::vector<Refusal>{
            {"gpu_scan_columns", "200 rows whose elements are 200 apart, expected at least 1024 rows side by side"}});
  for (const std::int64_t size : {0, 1, 4, 5, 128, 129, 8192, 8193, 20000, 600000}) {
    CHECK(complaint_of<std::int32_t>(sequence, {.dtype = DType::kI32, .extents = {2, size}, .axis = 1},
                                     {{"n", size}}) == "");
  }
}

TEST_CASE("a run binds the number of rows that are scanned") {
  for (const std::int64_t n : {9, 3000}) {
    const ScanCase any{.dtype = DType::kI32, .extents = {0, n}, .axis = 1};
    for (const char* algorithm : kAlgorithms) {
      const KernelSequence sequence = lowered_scan(descriptor_of(any, {Dim("rows"), n}), "gfx90a", algorithm);
      for (const std::int64_t rows : {0, 1, 70}) {
        const ScanCase test{.dtype = DType::kI32, .extents = {rows, n}, .axis = 1};
        CHECK(complaint_of<std::int32_t>(sequence, test, {{"rows", rows}}) == "");
      }
    }
  }
}

TEST_CASE("a scan reads at most twice and writes once") {
  for (const char* algorithm : kAlgorithms) {
    const std::size_t n = 50000;
    const ScanCase test{.extents = {static_cast<std::int64_t>(n)}};
    std::vector<float> input(n), results(n);
    const test::SequenceRun run{.operands = {{input.data(), n * 4}}, .results = {{results.data(), n * 4}}};
    const test::TrafficBytes traffic = test::traffic_of(lowered_scan(descriptor_of(test), "gfx1100", algorithm), run);
    CHECK(traffic.operands_loaded == (algorithm == kAlgorithms[1] ? 2 : 1) * n * 4);
    CHECK(traffic.results_stored == n * 4);
    CHECK(traffic.scratch_loaded + traffic.scratch_stored < 8000);  // all threads of a piece load where it starts
  }
}

TEST_CASE("a scan gives the same bits whatever the order of threads and groups") {
  struct Row {
    const char* algorithm;
    ScanCase test;
  };
  for (const Row& row :
       {Row{"gpu_scan_rows", {.extents = {3, 1000}, .axis = 1}},
        Row{"gpu_scan_pieces", {.extents = {3, 1000}, .axis = 1}}, Row{"gpu_scan_columns", {.extents = {5, 600}}}}) {
    const KernelSequence sequence = lowered_scan(descriptor_of(row.test), "gfx1100", row.algorithm);
    std::vector<float> input = make_input<float>(row.test, 3000), first;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      std::vector<float> results(3000);
      const test::SequenceRun run{
          .operands = {{input.data(), 12000}}, .results = {{results.data(), 12000}}, .symbols = {}, .order_seed = seed};
      CHECK(test::finding_in(sequence, run) == "");
      if (seed == 1) first = results;
      CHECK(results == first);
    }
  }
}

/// The greatest error of a cumulative sum of ones behind a large term, as a fraction of the sum.
double error_beside(float large, const ScanCase& test, const std::string& algorithm, const SymbolValues& symbols) {
  const auto n = static_cast<std::size_t>(test.extents[test.axis]);
  std::vector<float> input(n, 1), results(n);
  input[test.reverse ? n - 1 : 0] = large;
  std::vector<SizeExpr> extents(test.extents.begin(), test.extents.end());
  if (!symbols.empty()) extents[test.axis] = Dim("n");
  const KernelSequence sequence = lowered_scan(descriptor_of(test, Shape(extents)), "gfx90a", algorithm);
  const test::SequenceRun run{
      .operands = {{input.data(), n * 4}}, .results = {{results.data(), n * 4}}, .symbols = symbols};
  CHECK(test::finding_in(sequence, run) == "");
  double error = 0;
  for (std::size_t step = 0; step < n; ++step) {
    const double expected = large + static_cast<double>(step);
    error = std::max(error, std::fabs(results[test.reverse ? n - 1 - step : step] - expected) / expected);
  }
  return error;
}

TEST_CASE("carries of float sums nest: small terms next to a large one are not lost") {
  const auto bound_of = [](int levels) { return (128 * levels + 24) * 0x1p-24; };
  for (const bool is_symbolic : {false, true}) {
    const auto symbols = [&](std::int64_t n) { return is_symbolic ? SymbolValues{{"n", n}} : SymbolValues{}; };
    CHECK(error_beside(0x1p24f, {.extents = {20'000, 1}}, "gpu_scan_columns", symbols(20'000)) <= bound_of(2));
    // A step takes 1024 ones, half an ulp of the large term.
    CHECK(error_beside(0x1p34f, {.extents = {1, 400'000}, .axis = 1, .reverse = true}, "gpu_scan_rows",
                       symbols(400'000)) <= bound_of(1));
    CHECK(error_beside(0x1p34f, {.extents = {1, 400'000}, .axis = 1}, "gpu_scan_pieces", symbols(400'000)) <=
          bound_of(1));
  }
}

TEST_CASE("rows up to 128 steps, products, and sums of integers have one loop") {
  const auto num_loops = [](const ScanCase& test, const std::string& algorithm) {
    const std::string text = to_text(
        std::get<MachineKernel>(lowered_scan(descriptor_of(test), "gfx1100", algorithm).kernels[0].kernel.mapped));
    std::size_t count = 0;
    for (std::size_t at = text.find("= for "); at != text.npos; at = text.find("= for ", at + 1)) ++count;
    return count;
  };
  for (const auto& [n, loops] : {std::pair{128, 1}, {129, 2}, {16'385, 2}}) {
    CAPTURE(n);
    CHECK(num_loops({.extents = {n, 2}}, "gpu_scan_columns") == static_cast<std::size_t>(loops));
    CHECK(num_loops({.dtype = DType::kI32, .extents = {n, 2}}, "gpu_scan_columns") == 1);
    CHECK(num_loops({.extents = {n, 2}, .kind = ReductionKind::kProd}, "gpu_scan_columns") == 1);
  }
  CHECK(num_loops({.extents = {1, 130'000}, .axis = 1}, "gpu_scan_rows") == 1);
  CHECK(num_loops({.extents = {1, 140'000}, .axis = 1}, "gpu_scan_rows") == 2);
}

TEST_CASE("each mistake in a scan is found") {
  std::size_t num_found = 0;
  for (const char* algorithm : kAlgorithms) {
    const ScanCase test{.dtype = DType::kI32, .extents = {2, 17000}, .axis = 1};
    const KernelSequence sequence = lowered_scan(descriptor_of(test), "gfx1100", algorithm);
    const test::Mistakes mistakes = test::find_mistakes(
        sequence, [&](const KernelSequence& wrong) { return complaint_of<std::int32_t>(wrong, test); });
    num_found += mistakes.num_found;
    CHECK(mistakes.num_harmless == 0);
  }
  CHECK(num_found == 23);
}

TEST_CASE("threads scan adjacent lines") {
  std::uint32_t iteration = 0;
  for (const DType dtype : kAllDTypes) {
    if (dtype == DType::kBool) continue;
    for (const std::int64_t n : {0, 1, 2, 33, 300}) {
      ++iteration;
      check_scan({.dtype = dtype,
                  .extents = {2, n, 200},
                  .axis = 1,
                  .kind = kKinds[iteration % 4],
                  .exclusive = iteration % 2 == 0,
                  .reverse = iteration % 3 == 0},
                 kGpus[iteration % 2], "gpu_scan_columns");
    }
  }
  const ScanCase any{.dtype = DType::kI32, .extents = {50, 0}};
  const KernelSequence sequence = lowered_scan(descriptor_of(any, {50, Dim("columns")}), "gfx90a", "gpu_scan_columns");
  for (const std::int64_t columns : {0, 1, 257}) {
    const ScanCase test{.dtype = DType::kI32, .extents = {50, columns}};
    CHECK(complaint_of<std::int32_t>(sequence, test, {{"columns", columns}}) == "");
    const test::Mistakes mistakes = test::find_mistakes(sequence, [&](const KernelSequence& wrong) {
      return complaint_of<std::int32_t>(wrong, test, {{"columns", columns}});
    });
    CHECK(mistakes.num_found == (columns == 0 ? 0 : 2));
  }
}

}  // namespace
}  // namespace millrace
