// SPDX-License-Identifier: Apache-2.0
// What LLVM makes of the kernels for GPUs, executed instruction by instruction: against the oracle, and without a
// finding. On every target, but small problems only.
#include <algorithm>

#include <doctest/doctest.h>

#include "tests/support/gpu_trials.h"
#include "tests/support/op_driver.h"
#include "tests/support/slice.h"

using namespace millrace;
using namespace millrace::test;

namespace {

/// The most elements that a problem's operands may have together.
constexpr std::int64_t kMostElements = 4096;

std::int64_t num_elements(const OpProblem& problem) {
  std::int64_t sum = 0;
  for (const reference::Extents& shape : problem.operands) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= extent;
    sum += elements;
  }
  return sum;
}

const OpCase& row_of(Op op) { return *std::ranges::find(op_cases(), op, &OpCase::op); }

/// Every other problem runs in order and with correctly rounded approximations, the rest by seeds.
RunOptions executed(const TargetSpec& target, std::size_t number, std::string algorithm = "") {
  return {.target = target, .force_algorithm = std::move(algorithm), .seed = number % 2 == 0 ? 0 : number};
}

TargetSpec spec_of(const GfxTarget& gfx) { return {.family = "amdgpu", .gfx = std::string(gfx.name)}; }

/// Which slice one of the targets has of combination number `number`: each combination has each target once, and each
/// slice has all targets.
bool is_in(const Slice& slice, std::size_t number, std::size_t target) { return slice.has(number + 3 * target); }

void check_all_ran(const DriverTally& tally, std::size_t number) {
  for (const std::string& failure : tally.failures) FAIL_CHECK(failure);
  for (const std::string& refusal : refusals(tally)) FAIL_CHECK(refusal);
  CHECK(tally.ran == static_cast<std::int64_t>(number));
}

}  // namespace

TEST_CASE("the matrix of ops, dtypes and targets is right as executed machine code, a slice at a time") {
  const Slice slice = tested_slice();
  const std::span<const GfxTarget> targets = gfx_targets();
  DriverTally tally;
  std::size_t number = 0, num_run = 0;
  for (const OpCase& row : op_cases()) {
    for (const DType dtype : row.dtypes) {
      for (std::size_t t = 0; t < targets.size(); ++t) {
        if (!is_in(slice, number, t)) continue;
        for (const OpProblem& problem : row.problems(targets[t].subgroup_size)) {
          if (num_elements(problem) > kMostElements) continue;
          run_numbered(row, problem, dtype, executed(spec_of(targets[t]), num_run), num_run, tally);
          ++num_run;
        }
      }
      ++number;
    }
  }
  check_all_ran(tally, num_run);
  MESSAGE("slice ", to_text(slice), ": ", num_run, " problems");
}

TEST_CASE("the matrix of algorithms for GPUs is right as executed machine code, a slice at a time") {
  const Slice slice = tested_slice();
  const std::span<const GfxTarget> targets = gfx_targets();
  DriverTally tally;
  std::size_t number = 0, num_run = 0;
  for (const GpuTrial& trial : gpu_trials()) {
    for (const DType dtype : trial.dtypes) {
      for (std::size_t t = 0; t < targets.size(); ++t) {
        if (!is_in(slice, number, t)) continue;
        run_numbered(row_of(trial.op), trial.problem, dtype, executed(spec_of(targets[t]), num_run, trial.algorithm),
                     num_run, tally);
        ++num_run;
      }
      ++number;
    }
  }
  check_all_ran(tally, num_run);
  MESSAGE("slice ", to_text(slice), ": ", num_run, " trials");
}
