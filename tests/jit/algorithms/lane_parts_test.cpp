// SPDX-License-Identifier: Apache-2.0
// How long rows are lowered on CPUs with lanes, and which requests are refused. tests/ops tests the results of the
// kernels.
#include <doctest/doctest.h>

#include "millrace/jit/algorithm.h"
#include "millrace/jit/loop_kernel_builder.h"
#include "tests/support/golden.h"

namespace millrace {
namespace {

KernelTensor tensor(std::string name, DType dtype, const Shape& shape) {
  return {std::move(name), {dtype, shape}, Layout::row_major(shape)};
}

SortDescriptor topk_of(const SizeExpr& rows, const SizeExpr& n, const SizeExpr& k) {
  SortDescriptor sort;
  sort.name = "topk";
  sort.input = tensor("x", DType::kF32, {rows, n});
  sort.axis = 1;
  sort.k = k;
  sort.largest = true;
  sort.values = tensor("values", DType::kF32, {rows, k});
  sort.indices = tensor("indices", DType::kI64, {rows, k});
  return sort;
}

ScanDescriptor scan_of(const SizeExpr& rows, const SizeExpr& n) {
  ScanDescriptor scan;
  scan.name = "scan";
  scan.input = tensor("x", DType::kI8, {rows, n});
  scan.result = tensor("y", DType::kI8, {rows, n});
  scan.axis = 1;
  return scan;
}

LoopKernel argmax_of(const SizeExpr& rows, const SizeExpr& n, bool of_columns = false) {
  LoopKernelBuilder kernel("argmax");
  const AffineIndex row = kernel.parallel("row", rows), column = kernel.reduction("column", n);
  const OperandId x = kernel.operand("x", {DType::kF32, of_columns ? Shape{n, rows} : Shape{rows, n}});
  const std::vector<AffineIndex> place = of_columns ? std::vector{column, row} : std::vector{row, column};
  const BodyValue index = kernel.reduce(ReductionKind::kArgMax, kernel.load(kernel.term(), x, place));
  kernel.store("y", {DType::kI64, {rows}}, {row}, index);
  return kernel.finish().value();
}

Result<KernelSequence> lowered(const KernelRequest& request, std::string algorithm = "") {
  const KernelCompilerList generators = {make_xbyak_generator()};
  const Target target = Target::create({"cpu", IsaLevel::kAvx2}, generators).value();
  return lower_request(request, target, {.force_algorithm = std::move(algorithm)});
}
std::string refusal(const KernelRequest& request, std::string algorithm) {
  return lowered(request, std::move(algorithm)).status().message();
}

/// The kernels that a run launches.
std::vector<std::string> launched(const KernelSequence& sequence, const SymbolValues& symbols) {
  std::vector<std::string> names;
  for (const SequenceKernel& entry : sequence.kernels) {
    if (entry.kernel.num_groups.evaluate(symbols).value() > 0) names.push_back(entry.kernel.name);
  }
  return names;
}
using Names = std::vector<std::string>;

TEST_CASE("long rows are cut into parts that depend on the shapes alone") {
  std::string text;
  for (const auto& [n, k] : {std::pair{(2 << 20) - 1, 64}, {2 << 20, 64}, {2 << 20, 65}, {16'000'000, 100}}) {
    text += to_text(lowered(topk_of(3, n, k)).value());
  }
  text += to_text(lowered(topk_of(1, 32 << 20, 1024)).value());
  for (const std::int64_t n : {(1 << 20) - 1, 1 << 20, 4'000'000}) text += to_text(lowered(argmax_of(3, n)).value());
  for (const std::int64_t n : {(4 << 20) - 1, 4 << 20, 1 << 30}) text += to_text(lowered(scan_of(3, n)).value());
  CHECK(test::golden_problem("sequences_of_long_rows.txt", text) == "");
}

TEST_CASE("a run that binds the length of rows launches only the kernels for that length") {
  const Dim n = Dim("n").at_most(1 << 30), k = Dim("k").at_most(1024);
  const KernelSequence topk = lowered(topk_of(2, n, k)).value();
  CHECK(topk.algorithm == "lane_topk_parts, lane_sort");
  CHECK(launched(topk, {{"n", (2 << 20) - 1}, {"k", 5}}) == Names{"topk"});
  CHECK(launched(topk, {{"n", 2 << 20}, {"k", 5}}) == Names{"topk_long_parts", "topk_long_merge"});
  CHECK(topk.kernels[0].kernel.num_groups.evaluate({{"n", 16'000'000}, {"k", 5}}).value() == 2 * 15);
  const KernelSequence argmax = lowered(argmax_of(2, n)).value();
  CHECK(argmax.algorithm == "lane_arg_parts, loop_direct");
  CHECK(launched(argmax, {{"n", (1 << 20) - 1}}) == Names{"argmax"});
  CHECK(launched(argmax, {{"n", 1 << 20}}) == Names{"argmax_long_parts", "argmax_long_merge"});
  const KernelSequence columns = lowered(argmax_of(5, 209'716, true)).value();
  CHECK(launched(columns, {}) == Names{"argmax_parts", "argmax_merge"});
  CHECK(columns.kernels[0].kernel.num_groups.is(4));
  const KernelSequence scan = lowered(scan_of(2, n)).value();
  CHECK(scan.algorithm == "lane_scan_parts, lane_scan");
  CHECK(launched(scan, {{"n", (4 << 20) - 1}}) == Names{"scan"});
  CHECK(launched(scan, {{"n", 4 << 20}}) == Names{"scan_long_totals", "scan_long_parts"});
  std::int64_t bytes = 0;
  for (const SequenceScratch& scratch : scan.scratch) bytes += scratch.size_bytes.evaluate({{"n", 1000}}).value();
  CHECK(bytes == 0);
}

TEST_CASE("many results, and rows that are not contiguous, are not cut into parts") {
  CHECK(lowered(topk_of(1, 4 << 20, 8193))->algorithm == "lane_sort_parts");
  CHECK(
      refusal(topk_of(1, 4 << 20, 8193), "lane_topk_parts") ==
      "lower 'topk' for cpu:avx2: no algorithm lowers it; lane_topk_parts: the first 8193 of 4194304 elements per row, "
      "expected at most 8192 and long contiguous rows");
  CHECK(refusal(argmax_of(33, 1 << 20, true), "lane_arg_parts") ==
        "lower 'argmax' for cpu:avx2: no algorithm lowers it; lane_arg_parts: an argmax of elements that are 33 apart, "
        "expected contiguous rows");
  ScanDescriptor columns = scan_of(4 << 20, 3);
  columns.axis = 0;
  CHECK(refusal(columns, "lane_scan_parts") ==
        "lower 'scan' for cpu:avx2: no algorithm lowers it; lane_scan_parts: kernel scan_totals: no generator of "
        "cpu:avx2 supports it:\n  xbyak: 'x' has its elements 3 apart along the axis, expected contiguous rows");
}

TEST_CASE("short rows are not worth cutting") {
  const auto first_refusal = [](const KernelRequest& request) { return lowered(request)->refusals[0]; };
  CHECK(first_refusal(topk_of(1, 2'000'000, 10)) ==
        Refusal{"lane_topk_parts", "rows of 2000000 elements, expected at least 2097152 to pay off"});
  CHECK(first_refusal(scan_of(1, 4'000'000)) ==
        Refusal{"lane_scan_parts", "rows of 4000000 elements, expected at least 4194304 to pay off"});
  const std::vector<Refusal> refusals = lowered(argmax_of(1, 1'000'000))->refusals;
  REQUIRE(refusals.size() == 2);
  CHECK(refusals[1] == Refusal{"lane_arg_parts", "rows of 1000000 elements, expected at least 1048576 to pay off"});
}

TEST_CASE("impossible parts of rows and indices of elements are refused") {
  const std::string where = "lower 'topk' for cpu:avx2: no algorithm lowers it; lane_sort: sort 'topk': ";
  SortDescriptor sort = topk_of(2, 1000, 10);
  sort.parts = 4;
  CHECK(refusal(sort, "lane_sort") == where + "result 'values' is f32[2x10], expected f32[2x40]");
  sort = topk_of(2, 200, 100);
  sort.parts = 2;
  sort.values = tensor("values", DType::kF32, {2, 200});
  sort.indices = tensor("indices", DType::kI64, {2, 200});
  CHECK(refusal(sort, "lane_sort") == where + "k is 100, expected at most 64, the minimum length of a part");
  sort = topk_of(2, 1000, 500);
  sort.parts = 2;
  sort.values = tensor("values", DType::kF32, {2, 1000});
  sort.indices = tensor("indices", DType::kI64, {2, 1000});
  CHECK(refusal(sort, "lane_sort") == where + "k is 500, expected at most 448, the minimum length of a part");
  sort = topk_of(2, 1000, 10);
  sort.input_indices = tensor("given", DType::kI32, {2, 1000});
  CHECK(refusal(sort, "lane_sort") == where + "the input's indices are i32[2x1000], expected i64[2x1000]");
  sort.input_indices = tensor("given", DType::kI64, {2, 1000});
  sort.input_indices->layout.offset = 4;
  CHECK(refusal(sort, "lane_sort") ==
        where + "'given' is laid out as offset 4 strides [1000, 1], expected offset 0 strides [1000, 1] like 'x'");
}

TEST_CASE("only lanes take parts and indices of elements") {
  SortDescriptor sort = topk_of(2, 1000, 10);
  sort.input_indices = tensor("given", DType::kI64, {2, 1000});
  for (const std::string algorithm : {"lane_topk_parts", "topk_heap", "radix_sort", "merge_sort"}) {
    CHECK(refusal(sort, algorithm) == "lower 'topk' for cpu:avx2: no algorithm lowers it; " + algorithm +
                                          ": sort 'topk': elements with indices, expected elements without");
  }
  sort = topk_of(2, 1000, 10);
  sort.parts = 2;
  sort.values = tensor("values", DType::kF32, {2, 20});
  sort.indices = tensor("indices", DType::kI64, {2, 20});
  CHECK(refusal(sort, "merge_sort") ==
        "lower 'topk' for cpu:avx2: no algorithm lowers it; merge_sort: sort 'topk': rows in 2 parts, expected "
        "whole rows");
  sort = topk_of(2, 1000, 200);
  sort.parts = 2;
  sort.values = tensor("values", DType::kF32, {2, 400});
  sort.indices = tensor("indices", DType::kI64, {2, 400});
  CHECK(refusal(sort, "lane_sort") ==
        "lower 'topk' for cpu:avx2: no algorithm lowers it; lane_sort: kernel topk: no generator of cpu:avx2 supports "
        "it:\n"
        "  xbyak: the first 200 of each part of 1000 elements, expected k much smaller than a part");
  ScanDescriptor scan = scan_of(2, 1000);
  scan.step = ScanStep::kTotals;
  CHECK(refusal(scan, "lane_scan") ==
        "lower 'scan' for cpu:avx2: no algorithm lowers it; lane_scan: scan 'scan': a step "
        "of a scan, expected a whole scan");
  CHECK(refusal(scan_of(2, 1000), "lane_arg_parts") ==
        "lower 'scan' for cpu:avx2: no algorithm lowers it; lane_arg_parts: lowers loops, not scans");
}

}  // namespace
}  // namespace millrace
