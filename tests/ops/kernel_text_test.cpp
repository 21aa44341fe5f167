// SPDX-License-Identifier: Apache-2.0
// The kernels of every op, dtype, target and algorithm that have texts, read back from these.
#include <doctest/doctest.h>

#include "millrace/hal/gfx_target.h"
#include "tests/op_cases.h"
#include "tests/support/kernels/kernel_round_trip.h"
#include "tests/support/ops/op_samples.h"
#include "tests/support/ops/run_op.h"
#include "tests/support/slice.h"
#include "tests/support/sliced.h"

using namespace millrace;
using namespace millrace::test;

namespace {

std::vector<TargetSpec> all_targets() {
  std::vector<TargetSpec> targets;
  for (const char* cpu : {"cpu:baseline", "cpu:avx2", "cpu:avx512"}) targets.push_back(TargetSpec::parse(cpu).value());
  for (const GfxTarget& gfx : gfx_targets()) targets.push_back({.family = "amdgpu", .gfx = std::string(gfx.name)});
  return targets;
}

struct Tally {
  std::size_t num_requests = 0, num_kernels = 0;
};

void check_request(const KernelRequest& request, const TargetSpec& target, Tally& tally) {
  for (const std::string& algorithm : algorithm_names(target)) {
    const auto sequence = plan_request(request, {.target = target, .force_algorithm = algorithm});
    if (!sequence.ok()) continue;
    for (const SequenceKernel& kernel : sequence->kernels) {
      CAPTURE(algorithm);
      CAPTURE(target.to_text());
      CHECK(round_trip_problem(kernel.kernel) == "");
      ++tally.num_kernels;
    }
  }
}

void check_problem(const OpCase& row, const OpProblem& problem, DType dtype, const TargetSpec& target, Tally& tally) {
  std::vector<TensorType> operands;
  for (std::size_t n = 0; n < problem.operands.size(); ++n) {
    operands.push_back(reference::Tensor(operand_dtype(row.op, n, dtype), problem.operands[n]).type);
  }
  const Strides strides = tally.num_requests % 2 == 0 ? Strides::kDense : Strides::kPadded;
  const auto requests = build_requests(row.op, attributes_for(problem, dtype), operands, strides);
  REQUIRE_MESSAGE(requests.ok(), requests.status().message());
  for (const KernelRequest& request : *requests) {
    ++tally.num_requests;
    if (const auto* loop = std::get_if<LoopKernel>(&request)) CHECK(round_trip_problem(*loop) == "");
    check_request(request, target, tally);
  }
}

}  // namespace

TEST_CASE("the kernels of every op read back from their texts" * Sliced()) {
  const Slice slice = tested_slice();
  const std::vector<TargetSpec> targets = all_targets();
  std::size_t number = 0;
  Tally tally;
  for (const OpCase& row : op_cases()) {
    for (const DType dtype : row.dtypes) {
      ++number;
      for (std::size_t t = 0; t < targets.size(); ++t) {
        if (!slice.has(number + 3 * t)) continue;
        CAPTURE(to_text(row.op));
        CAPTURE(to_text(dtype));
        for (const OpProblem& problem : row.problems(8)) check_problem(row, problem, dtype, targets[t], tally);
      }
    }
  }
  CHECK(tally.num_kernels > tally.num_requests / 2);
}
