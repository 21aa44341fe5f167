// SPDX-License-Identifier: Apache-2.0
#include "tests/support/gpu/gpu_emission.h"

#include <algorithm>

#include "millrace/jit/code_object.h"
#include "tests/op_cases.h"
#include "tests/support/gpu/gpu_trials.h"
#include "tests/support/ops/allowed_spills.h"
#include "tests/support/ops/expected_refusals.h"
#include "tests/support/ops/op_samples.h"
#include "tests/support/ops/run_op.h"

namespace millrace::test {
namespace {

std::string emit_kernel(const EmitCase& row, const PlannedKernel& kernel, const TargetSpec& spec,
                        const CheckObject& check) {
  if (kernel.generator != "llvm") return "planned by " + kernel.generator;
  const auto image = make_llvm_generator()->emit(kernel, spec);
  if (!image.ok()) return image.status().message();
  if (image->format != ImageFormat::kGpuObject) return "no code object";
  const auto object = link_images({{*image}});
  if (!object.ok()) return object.status().message();
  const Result<CodeObjectInfo> info = read_code_object(*object);
  if (!info.ok()) return info.status().message();
  const std::uint32_t spills = info->kernels.at(0).num_scalar_spills,
                      max_spills = allowed_scalar_spills(row.op, row.dtype);
  if (spills > max_spills) {
    return std::to_string(spills) + " spills of scalar registers, expected at most " + std::to_string(max_spills);
  }
  return check ? check(*object) : "";
}

/// "gpu_topk_select refuses topk f64[2x5000] {k = 700, ...}".
std::string refusal_of(const EmitCase& row) {
  std::string text = row.algorithm + " refuses " + std::string(to_text(row.op));
  for (const auto& extents : row.problem.operands) text += " " + reference::Tensor(row.dtype, extents).type.to_text();
  return text + " " + to_text(attributes_for(row.problem, row.dtype));
}

/// Whether the algorithm may refuse, by the list.
bool is_listed(const EmitCase& row) {
  static const std::vector<std::string> kListed = listed_refusals("emission");
  return std::ranges::find(kListed, refusal_of(row)) != kListed.end();
}

/// What its requests are compiled to, or why not; empty: everything was emitted.
std::string emit_requests(const EmitCase& row, const Target& target, const CheckObject& check) {
  std::vector<TensorType> operands;
  for (std::size_t n = 0; n < row.problem.operands.size(); ++n) {
    operands.push_back(reference::Tensor(operand_dtype(row.op, n, row.dtype), row.problem.operands[n]).type);
  }
  const auto requests = build_requests(row.op, attributes_for(row.problem, row.dtype), operands, Strides::kDense);
  if (!requests.ok()) return requests.status().message();
  for (const KernelRequest& request : *requests) {
    const auto sequence = lower_request(request, target, {.force_algorithm = row.algorithm});
    if (sequence.status().code() == StatusCode::kUnimplemented && !row.algorithm.empty()) {
      return is_listed(row) ? "" : "+ " + refusal_of(row) + "\n" + sequence.status().message();
    }
    if (!sequence.ok()) return sequence.status().message();
    for (const SequenceKernel& kernel : sequence->kernels) {
      std::string failure = emit_kernel(row, kernel.kernel, target.spec(), check);
      if (!failure.empty()) return failure;
    }
  }
  return {};
}

}  // namespace

std::vector<EmitCase> every_emit_case() {
  std::vector<EmitCase> cases;
  for (const OpCase& row : op_cases()) {
    for (const DType dtype : row.dtypes) cases.push_back({row.op, row.problems(8).back(), dtype});
  }
  for (const GpuTrial& trial : gpu_trials()) {
    const OpCase& row = *std::ranges::find(op_cases(), trial.op, &OpCase::op);
    for (const DType dtype : row.dtypes) cases.push_back({trial.op, trial.problem, dtype, trial.algorithm});
  }
  return cases;
}

std::string emit_case(const EmitCase& row, std::string_view gfx, const CheckObject& check) {
  const Target target =
      Target::create({.family = "amdgpu", .gfx = std::string(gfx)}, KernelCompilerList{make_llvm_generator()}).value();
  return emit_requests(row, target, check);
}

}  // namespace millrace::test
