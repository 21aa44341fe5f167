// SPDX-License-Identifier: Apache-2.0
// Every op and algorithm as AMD GPU code: emission checks that an object calls nothing, spills no vector register, and
// takes only the planned memory. tests/llvm_link/gpu_matrix_test.cpp goes through the whole matrix.
#include <doctest/doctest.h>

#include "millrace/hal/gfx_target.h"
#include "tests/op_cases.h"
#include "tests/support/gpu/gpu_emission.h"
#include "tests/support/gpu/gpu_trials.h"
#include "tests/support/sliced.h"

namespace millrace::test {
namespace {

void check_emitted(const EmitCase& row, std::string_view gfx) {
  const std::string failure = emit_case(row, gfx);
  CHECK_MESSAGE(failure == "", to_text(row.op), " ", to_text(row.dtype), " for ", gfx, ": ", failure);
}

/// The targets in turn.
std::string_view gfx_of(std::size_t number) { return gfx_targets()[number % gfx_targets().size()].name; }

TEST_CASE("every op is emitted for GPUs, the dtypes and the targets in turn" * test::Sliced()) {
  std::size_t row_number = 0;
  for (const OpCase& row : op_cases()) {
    const OpProblem problem = row.problems(8).back();
    const std::size_t step = has_trait(row.op, kOrder) ? 4 : 1;  // networks of thousands of instructions
    for (std::size_t i = 0; i < row.dtypes.size(); i += step) {
      check_emitted({row.op, problem, row.dtypes[i]}, gfx_of(row_number + i));
    }
    for (const char* gfx : {"gfx1100", "gfx90a"}) check_emitted({row.op, problem, row.dtypes.front()}, gfx);
    ++row_number;
  }
}

TEST_CASE("every algorithm for GPUs is emitted, for the targets in turn" * test::Sliced()) {
  std::size_t number = 0;
  for (const GpuTrial& trial : gpu_trials()) {
    for (const DType dtype : trial.dtypes) {
      check_emitted({trial.op, trial.problem, dtype, trial.algorithm}, gfx_of(number++));
    }
  }
}

}  // namespace
}  // namespace millrace::test
