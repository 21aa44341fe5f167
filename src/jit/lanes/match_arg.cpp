// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/match_arg.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace {
namespace {

bool is_load(const BodyInstruction& instruction) {
  return instruction.op == KernelOp::kLoad && instruction.num_operands == 0;
}

/// Whether argmax compares the operand in reverse order: negated floats, inverted integers. Refuses other terms.
Result<bool> reads_smallest(const Body& term) {
  const BodyInstruction& last = term.instructions[term.yields[0]];
  if (is_load(last)) return false;
  const auto operand = [&](std::size_t i) -> const BodyInstruction& { return term.instructions[last.operands[i]]; };
  if (last.op == KernelOp::kNeg && is_float(last.dtype) && is_load(operand(0))) return true;
  const auto is_ones = [](const BodyInstruction& instruction) {
    return instruction.op == KernelOp::kConstant &&
           instruction.immediate == Scalar::from_int(instruction.dtype, -1).bits;
  };
  if (last.op == KernelOp::kXor && is_load(operand(0)) && is_ones(operand(1))) return true;
  return unimplemented(
      fmt::format("an argmax of computed values, the last by {}; takes the operand's elements", to_text(last.op)));
}

Status check_epilogue(const LoopKernel& kernel) {
  const bool is_index = kernel.stores.size() == 1 && kernel.epilogue.yields.size() == 1 &&
                        kernel.epilogue.instructions[kernel.epilogue.yields[0]].op == KernelOp::kReduced;
  if (is_index) return {};
  return unimplemented("an argmax whose index enters an epilogue, takes the index as the one result");
}

}  // namespace

bool is_argmax(const LoopKernel& kernel) {
  return std::ranges::any_of(kernel.reductions,
                             [](const Reduction& one) { return one.kind == ReductionKind::kArgMax; });
}

Result<ArgDescriptor> match_arg(const LoopKernel& nest) {
  const LoopKernel kernel = collapse_dims(nest);
  if (kernel.reductions.size() != 1 || kernel.loads.size() != 1) {
    return unimplemented(fmt::format("an argmax beside {} reductions of {} loads, takes one of one",
                                     kernel.reductions.size() - 1, kernel.loads.size()));
  }
  const Access &load = kernel.loads[0], &store = kernel.stores[0];
  if (load.fill || load.dynamic_dim) return unimplemented("an argmax of padded or gathered elements, takes plain rows");
  ArgDescriptor arg;
  arg.name = kernel.name;
  MILLRACE_TRY_ASSIGN(arg.smallest, reads_smallest(kernel.term));
  MILLRACE_TRY(check_epilogue(kernel));
  const AffineIndex &from = load.indices[0], &to = store.indices[0];
  const std::size_t axis = kernel.num_parallel();
  if (!from.coefficients[axis].is(1)) {
    return unimplemented(fmt::format("an argmax of elements that are {} apart, takes contiguous rows",
                                     from.coefficients[axis].to_text()));
  }
  std::vector<SizeExpr> extents;
  for (const LoopDim& dim : kernel.domain) extents.push_back(dim.extent);
  const KernelTensor &operand = kernel.operands[load.tensor], &result = kernel.results[store.tensor];
  arg.input = {operand.name, {operand.type.dtype, Shape(extents)}, {from.offset, from.coefficients}};
  extents[axis] = 1;
  arg.indices = {result.name, {DType::kI64, Shape(extents)}, {to.offset, to.coefficients}};
  return arg;
}

}  // namespace millrace
