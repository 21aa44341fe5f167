// SPDX-License-Identifier: Apache-2.0
// Emits LLVM IR for the conversions between f16 and f32: instructions where the target has them, otherwise formulas.
#include "jit/llvm/float16.h"

#include <llvm/IR/Module.h>

#include "jit/llvm/lanewise.h"
#include "millrace/jit/float16_bodies.h"

namespace millrace {
namespace {

using llvm::Value;

/// The names of the functions begin with these.
constexpr char kWiden[] = "millrace.widen_f16.", kNarrow[] = "millrace.narrow_f16.";

struct FormulaValue {
  Value* value = nullptr;
  DType dtype = DType::kF32;
};

/// Builds the formulas of millrace/jit/float16_bodies.h.
class FormulaBuilder : public BodyVocabulary<FormulaBuilder, FormulaValue> {
 public:
  FormulaBuilder(llvm::IRBuilder<>& ir, const LlvmTarget& target, std::uint32_t lanes)
      : ir_(ir), target_(target), lanes_(lanes) {}

  FormulaValue emit(KernelOp op, DType dtype, std::initializer_list<FormulaValue> operands) {
    llvm::SmallVector<llvm::Value*, 3> values;
    for (const FormulaValue& operand : operands) values.push_back(operand.value);
    return {emit_lanewise(ir_, target_, op, std::prev(operands.end())->dtype, dtype, values), dtype};
  }
  FormulaValue constant_scalar(Scalar scalar) {
    return {emit_constant(ir_.getContext(), {scalar.dtype, lanes_}, scalar.bits), scalar.dtype};
  }

 private:
  llvm::IRBuilder<>& ir_;
  const LlvmTarget& target_;
  std::uint32_t lanes_;
};

/// LLVM's conversion that a call stands for.
Value* converted(llvm::IRBuilder<>& ir, bool widens, Value* x) {
  const auto like_x = [x](llvm::Type* scalar) { return x->getType()->getWithNewType(scalar); };
  if (widens) return ir.CreateFPExt(ir.CreateBitCast(x, like_x(ir.getHalfTy())), like_x(ir.getFloatTy()));
  return ir.CreateBitCast(ir.CreateFPTrunc(x, like_x(ir.getHalfTy())), like_x(ir.getInt16Ty()));
}

}  // namespace

Value* emit_f16(llvm::IRBuilder<>& ir, const LlvmTarget& target, KernelOp op, Value* x) {
  const bool widens = op == KernelOp::kWidenF16;
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  const std::uint32_t lanes = vector == nullptr ? 1 : vector->getNumElements();
  if (!target.has_f16c) {
    FormulaBuilder b(ir, target, lanes);
    return widens ? float16::widen_f16(b, {x, DType::kU16}).value : float16::narrow_f16(b, {x, DType::kF32}).value;
  }
  llvm::Module& module = *ir.GetInsertBlock()->getModule();
  llvm::Type* result = x->getType()->getWithNewType(widens ? ir.getFloatTy() : ir.getInt16Ty());
  llvm::FunctionCallee callee =
      module.getOrInsertFunction((widens ? kWiden : kNarrow) + std::to_string(lanes), result, x->getType());
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  return ir.CreateCall(callee, {x});
}

void expand_f16(llvm::Module& module) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    const bool widens = function.getName().starts_with(kWiden);
    if (!widens && !function.getName().starts_with(kNarrow)) continue;
    for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
      auto* call = llvm::cast<llvm::CallInst>(user);
      llvm::IRBuilder<> ir(call);
      call->replaceAllUsesWith(converted(ir, widens, call->getArgOperand(0)));
      call->eraseFromParent();
    }
    function.eraseFromParent();
  }
}

}  // namespace millrace
