// SPDX-License-Identifier: Apache-2.0
// Counts the floating-point operations of a loop nest, for reports.
#include <algorithm>

#include "millrace/jit/loop_kernel.h"

namespace millrace {
namespace {

std::int64_t flops_of(const Body& body) {
  std::int64_t flops = 0;
  for (const BodyInstruction& instruction : body.instructions) {
    const bool is_arithmetic = rule_of(instruction.op) == KernelOpRule::kArith && instruction.op != KernelOp::kConstant;
    if (!is_arithmetic || !is_float(instruction.dtype)) continue;
    flops += instruction.op == KernelOp::kMulAdd ? 2 : 1;
  }
  return flops;
}

}  // namespace

SizeExpr count_flops(const LoopKernel& kernel) {
  SizeExpr parallel_points = 1;
  SizeExpr points = 1;
  for (const LoopDim& dim : kernel.domain) {
    points = points * dim.extent;
    if (!dim.is_reduction) parallel_points = parallel_points * dim.extent;
  }
  const auto accumulations =
      std::ranges::count_if(kernel.reductions, [](const Reduction& reduction) { return is_float(reduction.dtype); });
  std::int64_t term_flops = accumulations;
  for (const Body& term : kernel.terms) term_flops += flops_of(term);
  return points * term_flops + parallel_points * flops_of(kernel.epilogue);
}

}  // namespace millrace
