// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gpu/gpu_matrix.h"

#include <algorithm>

#include "tests/support/gpu/gpu_trials.h"

namespace millrace::test {
namespace {

/// The maximum number of elements of a problem's operands together.
constexpr std::int64_t kMaxElements = 4096;

std::int64_t num_elements(const OpProblem& problem) {
  std::int64_t sum = 0;
  for (const reference::Extents& shape : problem.operands) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= extent;
    sum += elements;
  }
  return sum;
}

TargetSpec spec_of(const GfxTarget& gfx) { return {.family = "amdgpu", .gfx = std::string(gfx.name)}; }

/// Which slice one of the targets has of combination number `number`: each combination has each target once, and each
/// slice has all targets.
bool is_in(const Slice& slice, std::size_t number, std::size_t target) { return slice.has(number + 3 * target); }

}  // namespace

std::size_t for_each_op_problem(const Slice& slice, const std::function<void(const GpuProblem&)>& run) {
  const std::span<const GfxTarget> targets = gfx_targets();
  std::size_t number = 0, num_run = 0;
  for (const OpCase& row : op_cases()) {
    for (const DType dtype : row.dtypes) {
      for (std::size_t t = 0; t < targets.size(); ++t) {
        if (!is_in(slice, number, t)) continue;
        for (const OpProblem& problem : row.problems(targets[t].subgroup_size)) {
          if (num_elements(problem) <= kMaxElements) run({row, problem, dtype, spec_of(targets[t]), "", num_run++});
        }
      }
      ++number;
    }
  }
  return num_run;
}

std::size_t for_each_algorithm_problem(const Slice& slice, const std::function<void(const GpuProblem&)>& run) {
  const std::span<const GfxTarget> targets = gfx_targets();
  std::size_t number = 0, num_run = 0;
  for (const GpuTrial& trial : gpu_trials()) {
    for (const DType dtype : trial.dtypes) {
      for (std::size_t t = 0; t < targets.size(); ++t) {
        if (!is_in(slice, number, t)) continue;
        run({row_of(trial.op), trial.problem, dtype, spec_of(targets[t]), trial.algorithm, num_run++});
      }
      ++number;
    }
  }
  return num_run;
}

const OpCase& row_of(Op op) { return *std::ranges::find(op_cases(), op, &OpCase::op); }

}  // namespace millrace::test
