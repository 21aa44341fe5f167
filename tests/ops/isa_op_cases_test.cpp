// SPDX-License-Identifier: Apache-2.0
// LLVM's machine code of the kernels for GPUs, executed instruction by instruction: against the oracle, and without a
// finding. On every target, but only small problems.
#include <doctest/doctest.h>

#include "tests/ops/check_all_ran.h"
#include "tests/support/gpu/gpu_matrix.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;

namespace {

/// Every other problem runs in order and with correctly rounded approximations, the rest by seeds.
void execute(const GpuProblem& each, DriverTally& tally) {
  const RunOptions run{
      .target = each.target, .force_algorithm = each.algorithm, .seed = each.number % 2 == 0 ? 0 : each.number};
  run_numbered(each.row, each.problem, each.dtype, run, each.number, tally);
}

}  // namespace

TEST_CASE("the matrix of ops, dtypes and targets is right as executed machine code, a slice at a time" *
          test::Sliced()) {
  DriverTally tally;
  const std::size_t number = for_each_op_problem(tested_slice(), [&](const GpuProblem& each) { execute(each, tally); });
  check_all_ran(tally, number);
  MESSAGE("slice ", to_text(tested_slice()), ": ", number, " problems");
}

TEST_CASE("the matrix of algorithms for GPUs is right as executed machine code, a slice at a time") {
  DriverTally tally;
  const std::size_t number =
      for_each_algorithm_problem(tested_slice(), [&](const GpuProblem& each) { execute(each, tally); });
  check_all_ran(tally, number);
  MESSAGE("slice ", to_text(tested_slice()), ": ", number, " trials");
}
