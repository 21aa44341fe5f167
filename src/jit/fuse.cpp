// SPDX-License-Identifier: Apache-2.0
#include "jit/fuse.h"

namespace millrace {

std::optional<BodyValue> affine_value(BodyBuilder& builder, const AffineIndex& index) {
  if (!index.offset.is_constant()) return std::nullopt;
  std::optional<BodyValue> sum;
  const auto add = [&](BodyValue term) { sum = sum ? builder.add(*sum, term) : term; };
  for (std::size_t d = 0; d < index.coefficients.size(); ++d) {
    const SizeExpr& coefficient = index.coefficients[d];
    if (coefficient.is(0)) continue;
    if (!coefficient.is_constant()) return std::nullopt;
    const BodyValue dim = builder.index(static_cast<std::uint32_t>(d));
    add(coefficient.is(1) ? dim : builder.mul(dim, builder.constant_int(DType::kI64, coefficient.constant())));
  }
  if (!sum || !index.offset.is(0)) add(builder.constant_int(DType::kI64, index.offset.constant()));
  return sum;
}

BodyValue as_stored(BodyBuilder& builder, BodyValue value, const LoopKernel& made_by, std::size_t yield, DType stored) {
  if (body_dtype(stored) == stored) return value;
  const BodyInstruction& last = made_by.epilogue.instructions[made_by.epilogue.yields[yield]];
  if (last.op == KernelOp::kLoad && made_by.operands[made_by.loads[last.immediate].tensor].type.dtype == stored) {
    return value;
  }
  return builder.convert(value.dtype, builder.convert(stored, value));
}

LoopKernel merge_operands(const LoopKernel& kernel, std::uint32_t kept, std::uint32_t dropped) {
  MILLRACE_CHECK(kept < kernel.operands.size() && dropped < kernel.operands.size() && kept != dropped);
  MILLRACE_CHECK(kernel.operands[kept].type == kernel.operands[dropped].type);
  MILLRACE_CHECK(kernel.operands[kept].layout == kernel.operands[dropped].layout);
  LoopKernel merged = kernel;
  merged.operands.erase(merged.operands.begin() + dropped);
  merged.loads.clear();
  std::vector<std::uint32_t> numbers;
  for (Access load : kernel.loads) {
    if (load.tensor == dropped) load.tensor = kept;
    if (load.tensor > dropped) --load.tensor;
    numbers.push_back(find_or_add_load(merged.loads, std::move(load)));
  }
  for (Body* body : {&merged.term, &merged.epilogue}) {
    for (BodyInstruction& instruction : body->instructions) {
      if (instruction.op == KernelOp::kLoad) instruction.immediate = numbers[instruction.immediate];
    }
  }
  return merged;
}

}  // namespace millrace
