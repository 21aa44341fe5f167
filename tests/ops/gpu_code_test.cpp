// SPDX-License-Identifier: Apache-2.0
// Every op, dtype, algorithm and target as AMD GPU code: emission checks that an object calls nothing, spills no
// vector register, and takes no memory but what was planned.
#include <algorithm>

#include <doctest/doctest.h>

#include "millrace/jit/code_object.h"
#include "tests/op_cases.h"
#include "tests/support/allowed_spills.h"
#include "tests/support/expected_refusals.h"
#include "tests/support/gpu_trials.h"
#include "tests/support/op_samples.h"
#include "tests/support/run_op.h"
#include "tests/support/slice.h"

namespace millrace::test {
namespace {

struct EmitCase {
  Op op;
  OpProblem problem;
  DType dtype;
  std::string algorithm = {};  // to force
};

std::string emit_kernel(const EmitCase& row, const PlannedKernel& kernel, const TargetSpec& spec) {
  if (kernel.generator != "llvm") return "planned by " + kernel.generator;
  const auto image = make_llvm_generator()->emit(kernel, spec);
  if (!image.ok()) return image.status().message();
  if (image->format != ImageFormat::kGpuObject) return "no code object";
  const auto object = link_images({{*image}});
  if (!object.ok()) return object.status().message();
  const Result<CodeObjectInfo> info = read_code_object(*object);
  if (!info.ok()) return info.status().message();
  const std::uint32_t spills = info->kernels.at(0).num_scalar_spills, most = allowed_scalar_spills(row.op, row.dtype);
  if (spills <= most) return "";
  return std::to_string(spills) + " spills of scalar registers, expected at most " + std::to_string(most);
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
std::string emit_requests(const EmitCase& row, const Target& target) {
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
      std::string failure = emit_kernel(row, kernel.kernel, target.spec());
      if (!failure.empty()) return failure;
    }
  }
  return {};
}

void check_emitted(const EmitCase& row, std::string_view gfx) {
  const Target target =
      Target::create({.family = "amdgpu", .gfx = std::string(gfx)}, KernelCompilerList{make_llvm_generator()}).value();
  const std::string failure = emit_requests(row, target);
  CHECK_MESSAGE(failure == "", to_text(row.op), " ", to_text(row.dtype), " for ", gfx, ": ", failure);
}

/// The targets in turn.
std::string_view gfx_of(std::size_t number) { return gfx_targets()[number % gfx_targets().size()].name; }

TEST_CASE("every op is emitted for GPUs, the dtypes and the targets in turn") {
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

TEST_CASE("every algorithm for GPUs is emitted, for the targets in turn") {
  std::size_t number = 0;
  for (const GpuTrial& trial : gpu_trials()) {
    for (const DType dtype : trial.dtypes) {
      check_emitted({trial.op, trial.problem, dtype, trial.algorithm}, gfx_of(number++));
    }
  }
}

/// Every op and algorithm with every dtype.
std::vector<EmitCase> every_case() {
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

TEST_CASE("the matrix of ops, algorithms, dtypes and targets is emitted, a slice at a time") {
  const Slice slice = tested_slice();
  const std::vector<EmitCase> cases = every_case();
  std::size_t number = 0, num_emitted = 0;
  for (const EmitCase& row : cases) {
    for (const GfxTarget& gfx : gfx_targets()) {
      if (!slice.has(number++)) continue;
      check_emitted(row, gfx.name);
      ++num_emitted;
    }
  }
  MESSAGE("slice ", to_text(slice), ": ", num_emitted, " of ", number);
}

}  // namespace
}  // namespace millrace::test
