// SPDX-License-Identifier: Apache-2.0
// A second witness: kernels for GPUs as machine code of the host, split at their barriers, against the oracle. A
// mistake of the interpreter is found here.
#include <set>

#include <doctest/doctest.h>

#include "tests/ops/check_all_ran.h"
#include "tests/support/gpu/gpu_matrix.h"
#include "tests/support/gpu/gpu_trials.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;

namespace {

constexpr const char* kTargets[] = {"sim:gfx1100", "sim:gfx90a"};  // subgroups of 32 and of 64

/// Runs as machine code of the host, or not at all.
RunOptions split_for(const char* target, std::string algorithm = "") {
  return {
      .target = TargetSpec::parse(target).value(), .force_algorithm = std::move(algorithm), .force_generator = "split"};
}

}  // namespace

TEST_CASE("every op gives the oracle's results with its kernels for GPUs as machine code of the host" *
          test::Sliced()) {
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

TEST_CASE("the matrix of ops, problems, dtypes and targets is right as machine code of the host, a slice at a time" *
          test::Sliced()) {
  const Slice slice = tested_slice();
  DriverTally tally;
  std::size_t number = 0, num_run = 0;
  for (const OpCase& row : op_cases()) {
    for (const DType dtype : row.dtypes) {
      for (const char* target : kTargets) {
        const RunOptions run = split_for(target);
        for (const OpProblem& problem : row.problems(run.target.subgroup_size())) {
          if (slice.has(number++)) run_numbered(row, problem, dtype, run, num_run++, tally);
        }
      }
    }
  }
  check_all_ran(tally, num_run);
  MESSAGE("slice ", to_text(slice), ": ", num_run, " of ", number);
}

TEST_CASE("every algorithm for GPUs gives the oracle's results as machine code of the host" * test::Sliced()) {
  DriverTally tally;
  std::size_t number = 0;
  for (const char* target : kTargets) {
    std::set<std::string> algorithms;
    for (const GpuTrial& trial : gpu_trials()) {
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
