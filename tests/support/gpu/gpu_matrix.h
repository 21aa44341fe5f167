// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "millrace/hal/target_spec.h"
#include "tests/op_cases.h"
#include "tests/support/slice.h"

namespace millrace::test {

/// A problem that is small enough to be executed instruction by instruction, on one of the GPUs.
struct GpuProblem {
  const OpCase& row;
  const OpProblem& problem;
  DType dtype;
  TargetSpec target;
  std::string algorithm;  // forced; empty: the one that serves first
  std::size_t number;     // in the slice: selects what varies from problem to problem
};

/// Calls `run` with each problem of the slice, of the matrix of ops, dtypes and targets. Each slice has all targets.
/// Returns how many these are.
std::size_t for_each_op_problem(const Slice&, const std::function<void(const GpuProblem&)>& run);
/// The same, of the matrix of gpu_trials(), their dtypes and targets.
std::size_t for_each_algorithm_problem(const Slice&, const std::function<void(const GpuProblem&)>& run);

const OpCase& row_of(Op);

}  // namespace millrace::test
