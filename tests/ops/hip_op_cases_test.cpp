// SPDX-License-Identifier: Apache-2.0
// Ops on the device hip, whose runtime is the stand-in: operands, results and scratch are memory of the device, kernels
// are launched, and their machine code is executed.
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "tests/hip_standin/standin.h"
#include "tests/ops/check_all_ran.h"
#include "tests/support/gpu/gpu_matrix.h"
#include "tests/support/gpu/gpu_trials.h"
#include "tests/support/ops/op_samples.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;

namespace {

/// A device of each architecture: subgroups of 32 and of 64.
class HipDevices {
 public:
  HipDevices() {
    for (std::uint32_t ordinal = 0; ordinal < 2; ++ordinal) {
      const auto device = standin_.open({.ordinal = ordinal});
      REQUIRE(device.status().message() == "");
      by_gfx_[(*device)->targets().front().gfx] = *device;
    }
  }

  bool has(const TargetSpec& target) const { return by_gfx_.contains(target.gfx); }

  void execute(const GpuProblem& each, DriverTally& tally) {
    const RunOptions run{
        .target = each.target, .force_algorithm = each.algorithm, .device = by_gfx_.at(each.target.gfx)};
    run_numbered(each.row, each.problem, each.dtype, run, each.number, tally);
    standin_.control.clear_calls();
  }

 private:
  HipStandin standin_{two_architectures(7)};
  std::map<std::string, std::shared_ptr<HipDevice>> by_gfx_;
};

constexpr const char* kTargets[] = {"amdgpu:gfx1100", "amdgpu:gfx90a"};

TargetSpec target_of(const char* text) { return TargetSpec::parse(text).value(); }

/// Whether the kernels of a trial pass something on in memory that the schedule gives them.
bool has_scratch(const GpuTrial& trial, DType dtype, const TargetSpec& target) {
  std::vector<TensorType> operands;
  for (std::size_t i = 0; i < trial.problem.operands.size(); ++i) {
    operands.push_back(reference::Tensor(operand_dtype(trial.op, i, dtype), trial.problem.operands[i]).type);
  }
  const Attributes attributes = attributes_for(trial.problem, dtype);
  const KernelRequest request = build_requests(trial.op, attributes, operands, Strides::kDense).value()[0];
  const RunOptions options{.target = target, .force_algorithm = trial.algorithm};
  return !plan_request(request, options).value().scratch.empty();
}

/// Runs those of a matrix that are for the devices, and returns how many these are.
template <class Matrix>
std::size_t execute_all(const Matrix& matrix, DriverTally& tally) {
  HipDevices devices;
  std::size_t number = 0;
  matrix(tested_slice(), [&](const GpuProblem& each) {
    if (!devices.has(each.target)) return;
    devices.execute(each, tally);
    ++number;
  });
  return number;
}

}  // namespace

TEST_CASE("every op is right through HIP" * test::Sliced()) {
  HipDevices devices;
  DriverTally tally;
  std::size_t number = 0;
  for (const OpCase& row : op_cases()) {
    for (int i = 0; i < 2; ++i) {
      const TargetSpec target = target_of(kTargets[number % 2]);
      const OpProblems problems = row.problems(target.subgroup_size());
      const OpProblem& problem = i == 0 ? problems.back() : problems[number % problems.size()];
      devices.execute({row, problem, row.dtypes[0], target, "", number++}, tally);
    }
  }
  check_all_ran(tally, number);
}

TEST_CASE("sorts, selections and scans that pass scratch from kernel to kernel are right through HIP" *
          test::Sliced()) {
  HipDevices devices;
  DriverTally tally;
  std::set<std::string> algorithms;
  std::size_t number = 0;
  for (const GpuTrial& trial : gpu_trials()) {
    for (const char* text : kTargets) {
      const TargetSpec target = target_of(text);
      if (!has_trait(trial.op, kOrder) && !has_trait(trial.op, kSequence)) continue;
      if (!has_scratch(trial, trial.dtypes[0], target)) continue;
      algorithms.insert(trial.algorithm);
      devices.execute({row_of(trial.op), trial.problem, trial.dtypes[0], target, trial.algorithm, number++}, tally);
    }
  }
  check_all_ran(tally, number);
  const std::set<std::string> expected = {"gpu_topk_parts", "gpu_topk_select", "gpu_radix_sort", "gpu_scan_pieces"};
  CHECK(algorithms == expected);
}

TEST_CASE("the matrix of ops, dtypes and targets is right through HIP, a slice at a time" * test::Sliced()) {
  DriverTally tally;
  const std::size_t number = execute_all(for_each_op_problem, tally);
  check_all_ran(tally, number);
  MESSAGE("slice ", to_text(tested_slice()), ": ", number, " problems");
}

TEST_CASE("the matrix of algorithms for GPUs is right through HIP, a slice at a time") {
  DriverTally tally;
  const std::size_t number = execute_all(for_each_algorithm_problem, tally);
  check_all_ran(tally, number);
  MESSAGE("slice ", to_text(tested_slice()), ": ", number, " trials");
}
