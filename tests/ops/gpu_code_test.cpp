// SPDX-License-Identifier: Apache-2.0
// Every op that is a nest, as AMD GPU code: emission checks that an object calls nothing, spills nothing, and takes no
// memory but what was planned.
#include <algorithm>

#include <doctest/doctest.h>

#include "tests/op_cases.h"
#include "tests/support/op_samples.h"
#include "tests/support/run_op.h"

namespace millrace::test {
namespace {

/// What its requests are compiled to, or why not; empty: everything was emitted.
std::string emit_row(const OpCase& row, const OpProblem& problem, DType dtype, const Target& target) {
  std::vector<TensorType> operands;
  for (std::size_t n = 0; n < problem.operands.size(); ++n) {
    operands.push_back(reference::Tensor(operand_dtype(row.op, n, dtype), problem.operands[n]).type);
  }
  const auto requests = build_requests(row.op, attributes_for(problem, dtype), operands, Strides::kDense);
  if (!requests.ok()) return requests.status().message();
  for (const KernelRequest& request : *requests) {
    const auto sequence = lower_request(request, target, {});
    if (!sequence.ok()) return sequence.status().message();
    for (const SequenceKernel& kernel : sequence->kernels) {
      if (kernel.kernel.generator != "llvm") return "planned by " + kernel.kernel.generator;
      const auto image = make_llvm_generator()->emit(kernel.kernel, target.spec());
      if (!image.ok()) return image.status().message();
      if (image->format != ImageFormat::kGpuObject) return "no code object";
    }
  }
  return {};
}

void emit_rows(const char* spec, std::span<const DType> dtypes) {
  const Target target = Target::create(TargetSpec::parse(spec).value(), all_generators()).value();
  for (const OpCase& row : op_cases()) {
    if ((info(row.op).traits & (kSequence | kOrder)) != 0) continue;
    for (const DType dtype : dtypes) {
      if (std::ranges::find(row.dtypes, dtype) == row.dtypes.end()) continue;
      const std::string failure = emit_row(row, row.problems(8).back(), dtype, target);
      CHECK_MESSAGE(failure == "", to_text(row.op), " ", to_text(dtype), " for ", spec, ": ", failure);
    }
  }
}

TEST_CASE("every op that is a nest is emitted for GPUs, without calls") {
  emit_rows("amdgpu:gfx1100", op_case_dtypes::kAll);
  const DType dtypes[] = {DType::kF32, DType::kF64, DType::kI8};
  emit_rows("amdgpu:gfx90a", dtypes);
}

}  // namespace
}  // namespace millrace::test
