// SPDX-License-Identifier: Apache-2.0
// A second witness: kernels for GPUs as machine code of the host, split at their barriers, against the oracle. What the
// interpreter has wrong does not hide here.
#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "tests/support/op_driver.h"

using namespace millrace;
using namespace millrace::test;

namespace {

constexpr const char* kTargets[] = {"sim:gfx1100", "sim:gfx90a"};  // subgroups of 32 and of 64

/// What an algorithm is tried with, once with each dtype for each target.
struct Trial {
  const char* algorithm;
  Op op;
  OpProblem problem;
  std::vector<DType> dtypes;
};

/// Every algorithm that serves GPUs, and of each every kind of kernel that it makes.
std::vector<Trial> trials() {
  using enum DType;
  const Conv2dAttrs padded{.padding = {1, 1, 1, 1}};
  const DotAttrs product{.x_contract = {1}, .y_contract = {0}};
  return {
      {"loop_pad_first", Op::conv2d, {{{1, 8, 14, 14}, {24, 8, 3, 3}}, padded}, {kF32, kI16}},
      {"loop_direct", Op::conv2d, {{{1, 8, 14, 14}, {24, 8, 3, 3}}, padded}, {kF32, kU8}},
      {"loop_direct", Op::dot, {{{65, 70}, {70, 96}}, product}, {kF32, kBF16, kI8}},  // staged in workgroup memory
      {"loop_direct", Op::add, {{{3, 1024}, {3, 1024}}}, {kF32, kF16, kI64}},         // a vector a thread
      {"loop_direct", Op::transpose, {{{70, 130}}, PermutationAttrs{{1, 0}}}, {kF32, kI8}},
      {"loop_direct", Op::reduce_sum, {{{80, 100}}, ReduceAttrs{{1}}}, {kF32, kF16, kU64}},  // a subgroup a row
      {"loop_direct", Op::reduce_max, {{{3, 5003}}, ReduceAttrs{{1}}}, {kF32, kI8}},         // a workgroup a row
      {"loop_direct", Op::argmax, {{{80, 100}}, ArgAttrs{1}}, {kF32, kU16}},
      {"loop_direct", Op::argmin, {{{5003}}, ArgAttrs{0}}, {kF64, kI32}},
      {"loop_direct", Op::max_pool2d, {{{1, 3, 28, 28}}, Pool2dAttrs{{3, 3}, {2, 2}, {1, 1, 1, 1}}}, {kF32, kI8}},
      {"loop_direct", Op::gather, {{{50, 64}, {61}}, GatherAttrs{0}}, {kF32, kI16}},
      {"scatter_lines", Op::scatter, {{{50, 64}, {61}, {61, 64}}, GatherAttrs{0}}, {kF32, kBool}},
      {"scatter_lines", Op::scatter_add, {{{50, 64}, {61}, {61, 64}}, GatherAttrs{0}}, {kF16, kI64}},
      {"gpu_topk_lanes", Op::topk, {{{5, 256}}, TopKAttrs{.k = 8}}, {kF32, kU64}},
      {"gpu_topk_lanes", Op::topk, {{{70, 33}}, TopKAttrs{.k = 16, .largest = false}}, {kBF16, kI16}},
      {"gpu_tile_sort", Op::sort, {{{3, 65}}, SortAttrs{1, true}}, {kF32, kBool}},
      {"gpu_tile_sort", Op::sort, {{{2300, 2}}, SortAttrs{0}}, {kF64, kI16}},
      {"gpu_tile_sort", Op::topk, {{{2, 1000}}, TopKAttrs{.k = 700, .sorted = false}}, {kF16, kU32}},
      {"gpu_topk_parts", Op::topk, {{{2, 3000}}, TopKAttrs{.k = 50}}, {kF32, kU8}},  // a row a workgroup
      {"gpu_topk_parts", Op::topk, {{{9000}}, TopKAttrs{.k = 600}}, {kF32, kI64}},   // parts that are merged
      {"gpu_topk_select", Op::topk, {{{2, 5000}}, TopKAttrs{.k = 700}}, {kF32}},     // the chosen are sorted
      {"gpu_topk_select", Op::topk, {{{4097}}, TopKAttrs{.k = 1000, .sorted = false}}, {kBF16}},
      {"gpu_radix_sort", Op::sort, {{{2, 5000}}, SortAttrs{1, true}}, {kF32, kI16}},
      {"gpu_radix_sort", Op::sort, {{{300, 3}}, SortAttrs{0}}, {kU8, kI64}},
      {"gpu_scan_columns", Op::cumulative_sum, {{{50, 70}}, ScanAttrs{.axis = 0, .exclusive = true}}, {kF32, kI8}},
      {"gpu_scan_rows", Op::cumulative_sum, {{{3, 1500}}, ScanAttrs{.axis = 1, .reverse = true}}, {kF32, kI16}},
      {"gpu_scan_rows", Op::cumulative_max, {{{40, 33}}, ScanAttrs{.axis = 1, .exclusive = true}}, {kBF16, kU64}},
      {"gpu_scan_pieces", Op::cumulative_max, {{{2, 9000}}, ScanAttrs{.axis = 1}}, {kF32, kI64}},
      {"gpu_scan_pieces", Op::cumulative_sum, {{{20000}}, ScanAttrs{.axis = 0, .exclusive = true}}, {kF16, kU32}},
  };
}

const OpCase& row_of(Op op) { return *std::ranges::find(op_cases(), op, &OpCase::op); }

/// As machine code of the host, or not at all.
RunOptions split_for(const char* target, std::string algorithm = "") {
  return {
      .target = TargetSpec::parse(target).value(), .force_algorithm = std::move(algorithm), .force_generator = "split"};
}

void check_all_ran(const DriverTally& tally, std::size_t number) {
  for (const std::string& failure : tally.failures) FAIL_CHECK(failure);
  for (const auto& [forced, count] : tally.refused) FAIL_CHECK(forced, " refused ", count);
  CHECK(tally.ran == static_cast<std::int64_t>(number));
}

}  // namespace

TEST_CASE("every op gives the oracle's results when its kernels for GPUs are machine code of the host") {
  DriverTally tally;
  std::size_t number = 0;
  for (const OpCase& row : op_cases()) {
    const std::size_t last = row.problems(1).size() - 1;
    std::vector<std::size_t> problems = {last, last};  // the largest, for both targets
    for (std::size_t i = number % 3; i < last; i += 3) problems.push_back(i);
    for (const std::size_t i : problems) {
      const RunOptions run = split_for(kTargets[number % 2]);
      const OpProblem problem = row.problems(run.target.subgroup_size())[i];
      run_numbered(row, problem, row.dtypes[number / 2 % row.dtypes.size()], run, number, tally);
      ++number;
    }
  }
  check_all_ran(tally, number);
}

TEST_CASE("every algorithm for GPUs gives the oracle's results as machine code of the host") {
  DriverTally tally;
  std::size_t number = 0;
  for (const char* target : kTargets) {
    std::set<std::string> algorithms;
    for (const Trial& trial : trials()) {
      algorithms.insert(trial.algorithm);
      for (const DType dtype : trial.dtypes) {
        run_numbered(row_of(trial.op), trial.problem, dtype, split_for(target, trial.algorithm), number++, tally);
      }
    }
    for (const std::string& name : algorithm_names(TargetSpec::parse(target).value())) {
      CHECK_MESSAGE(algorithms.contains(name), name, " has no trial");
    }
  }
  check_all_ran(tally, number);
}
