// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tests/support/ops/op_problems.h"

namespace millrace::test {

/// What an algorithm is tried with, once with each dtype.
struct GpuTrial {
  const char* algorithm;
  Op op;
  OpProblem problem;
  std::vector<DType> dtypes;
};

/// Every algorithm that serves GPUs, and of each every kind of kernel that it makes.
std::vector<GpuTrial> gpu_trials();

}  // namespace millrace::test
