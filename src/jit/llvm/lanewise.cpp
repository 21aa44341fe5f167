// SPDX-License-Identifier: Apache-2.0
// Emits LLVM IR for lanewise ops. Every result has the same bits as that of evaluate().
#include "jit/llvm/lanewise.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

namespace millrace {
namespace {

using llvm::Value;

/// Hides the origin of an unsigned 64-bit dividend from AMDGPU's code generation, unless its highest bit is known to be
/// 0. LLVM 19 divides in 32 bits if the 32 high bits of the dividend are equal (AMDGPUCodeGenPrepare::getDivNumBits),
/// whether they are zeros or copies of a sign: u64(i32(-1)) / 7 became 0xffffffff / 7.
Value* hide_sign(llvm::IRBuilder<>& ir, Value* x) {
  const llvm::DataLayout& layout = ir.GetInsertBlock()->getModule()->getDataLayout();
  if (!x->getType()->getScalarType()->isIntegerTy(64) || llvm::computeKnownBits(x, layout).isNonNegative()) return x;
  if (auto* type = llvm::dyn_cast<llvm::FixedVectorType>(x->getType())) {
    Value* hidden = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < type->getNumElements(); ++i) {
      hidden = ir.CreateInsertElement(hidden, hide_sign(ir, ir.CreateExtractElement(x, i)), i);
    }
    return hidden;
  }
  auto* type = llvm::FunctionType::get(x->getType(), {x->getType()}, false);
  llvm::CallInst* same = ir.CreateCall(llvm::InlineAsm::get(type, "", "=v,0", /*hasSideEffects=*/false), {x});
  same->setDoesNotAccessMemory();
  same->setDoesNotThrow();
  return same;
}

/// x / y rounded towards zero; x / 0 is 0; lowest / -1 wraps to lowest. The divide instruction must not execute in the
/// last two cases, because on x86 both trap.
Value* emit_integer_divide(llvm::IRBuilder<>& ir, bool is_signed, Value* x, Value* y) {
  llvm::Type* type = x->getType();
  llvm::Constant* zero = llvm::Constant::getNullValue(type);
  llvm::Constant* one = llvm::ConstantInt::get(type, 1);
  Value* by_zero = ir.CreateICmpEQ(y, zero);
  if (!is_signed) return ir.CreateSelect(by_zero, zero, ir.CreateUDiv(x, ir.CreateSelect(by_zero, one, y)));
  Value* by_minus_one = ir.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(type));
  Value* divisor = ir.CreateSelect(ir.CreateOr(by_zero, by_minus_one), one, y);
  Value* quotient = ir.CreateSDiv(x, divisor);
  return ir.CreateSelect(by_zero, zero, ir.CreateSelect(by_minus_one, ir.CreateNeg(x), quotient));
}

/// x % 0 is 0, like x % 1; lowest % -1 is 0, like lowest % 1.
Value* emit_integer_remainder(llvm::IRBuilder<>& ir, bool is_signed, Value* x, Value* y) {
  llvm::Type* type = x->getType();
  Value* replaced = ir.CreateICmpEQ(y, llvm::Constant::getNullValue(type));
  if (is_signed) replaced = ir.CreateOr(replaced, ir.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(type)));
  Value* divisor = ir.CreateSelect(replaced, llvm::ConstantInt::get(type, 1), y);
  return is_signed ? ir.CreateSRem(x, divisor) : ir.CreateURem(x, divisor);
}

/// The minimum or maximum of floats on x86. LLVM's own code for llvm.minimum first selects by the sign of x: with a
/// branch for scalars, and for vectors with two blends, which add latency to a chain of minima. This code instead
/// applies minps or maxps to the operands in both orders; each select below becomes one such instruction. If either
/// operand is NaN, or both are 0, the instruction returns its second operand. The two orders then return the two
/// operands. The bitwise "or" of the results is the minimum: negative if either 0 is negative, and NaN if either
/// operand is NaN. The bitwise "and" is the maximum, except for NaN, which is inserted afterwards. If y is a constant
/// number, only the order that keeps a NaN in x is needed. For two zeros, that order returns x. So a maximum with +0
/// must clear the sign, and a minimum with -0 must set it.
Value* emit_x86_min_max(llvm::IRBuilder<>& ir, bool is_min, Value* x, Value* y) {
  llvm::Type* type = x->getType();
  llvm::Type* bits = type->getWithNewType(ir.getIntNTy(type->getScalarSizeInBits()));
  auto better = [&](Value* a, Value* b) {
    return ir.CreateBitCast(ir.CreateSelect(is_min ? ir.CreateFCmpOLT(a, b) : ir.CreateFCmpOGT(a, b), a, b), bits);
  };
  auto as_float = [&](Value* value) { return ir.CreateBitCast(value, type); };

  if (llvm::isa<llvm::Constant>(x)) std::swap(x, y);
  const llvm::APFloat* number = nullptr;
  if (match(y, llvm::PatternMatch::m_APFloat(number)) && !number->isNaN()) {
    Value* result = better(y, x);
    if (!number->isZero() || number->isNegative() != is_min) return as_float(result);
    const auto sign = llvm::APInt::getSignMask(type->getScalarSizeInBits());
    return as_float(is_min ? ir.CreateOr(result, sign) : ir.CreateAnd(result, ~sign));
  }
  if (is_min) return as_float(ir.CreateOr(better(x, y), better(y, x)));
  Value* nan = ir.CreateSExt(ir.CreateFCmpUNO(x, y), bits);
  return as_float(ir.CreateOr(ir.CreateAnd(better(x, y), better(y, x)), nan));
}

Value* emit_min_max(llvm::IRBuilder<>& ir, const LlvmTarget& target, bool is_min, DType dtype, Value* x, Value* y) {
  if (dtype == DType::kBool) return is_min ? ir.CreateAnd(x, y) : ir.CreateOr(x, y);
  if (is_float(dtype) && target.subgroup_size == 1) return emit_x86_min_max(ir, is_min, x, y);
  // minimum and maximum rather than minnum and maxnum: they propagate NaN, and -0 is below +0.
  llvm::Intrinsic::ID id = is_min ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum;
  if (is_signed(dtype)) id = is_min ? llvm::Intrinsic::smin : llvm::Intrinsic::smax;
  if (is_unsigned(dtype)) id = is_min ? llvm::Intrinsic::umin : llvm::Intrinsic::umax;
  return ir.CreateBinaryIntrinsic(id, x, y);
}

Value* emit_compare(llvm::IRBuilder<>& ir, KernelOp op, DType dtype, Value* x, Value* y) {
  using P = llvm::CmpInst::Predicate;
  struct Row {
    KernelOp op;
    P floats, signed_integers, unsigned_integers;
  };
  static constexpr Row kRows[] = {
      {KernelOp::kEq, P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ},
      {KernelOp::kNe, P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE},
      {KernelOp::kLt, P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT},
      {KernelOp::kLe, P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE},
  };
  for (const Row& row : kRows) {
    if (row.op != op) continue;
    if (is_float(dtype)) return ir.CreateFCmp(row.floats, x, y);
    return ir.CreateICmp(is_signed(dtype) ? row.signed_integers : row.unsigned_integers, x, y);
  }
  MILLRACE_CHECK(false && "not a comparison");
  return nullptr;
}

/// Rounds towards zero and saturates; NaN becomes 0. llvm.fptosi.sat does the same, but LLVM 19 splits it into scalars
/// for vectors. The bounds are powers of two, so they are exact. Values out of range are replaced before the
/// conversion.
Value* emit_float_to_integer(llvm::IRBuilder<>& ir, DType to, Value* x, llvm::Type* type) {
  const auto bits = static_cast<unsigned>(size_bytes(to) * 8);
  const bool has_sign = is_signed(to);
  const auto& semantics = x->getType()->getScalarType()->getFltSemantics();
  llvm::APFloat above(semantics, 1);
  above = scalbn(above, static_cast<int>(bits - (has_sign ? 1 : 0)), llvm::APFloat::rmNearestTiesToEven);
  llvm::APFloat last = above;
  last.next(/*nextDown=*/true);  // the largest below `above`
  const llvm::APFloat lowest = has_sign ? -above : llvm::APFloat::getZero(semantics);
  auto constant = [&](const llvm::APFloat& value) { return llvm::ConstantFP::get(x->getType(), value); };
  Value* clamped = ir.CreateSelect(ir.CreateFCmpOGT(x, constant(lowest)), x, constant(lowest));  // a NaN gives lowest
  clamped = ir.CreateSelect(ir.CreateFCmpOLT(clamped, constant(last)), clamped, constant(last));
  Value* result = has_sign ? ir.CreateFPToSI(clamped, type) : ir.CreateFPToUI(clamped, type);
  const llvm::APInt greatest = has_sign ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  result = ir.CreateSelect(ir.CreateFCmpOGE(x, constant(above)), llvm::ConstantInt::get(type, greatest), result);
  if (!has_sign) return result;  // NaN became the lowest value, which is 0
  return ir.CreateSelect(ir.CreateFCmpORD(x, x), result, llvm_zero(type));
}

Value* emit_convert(llvm::IRBuilder<>& ir, DType from, DType to, Value* x) {
  llvm::Type* type = llvm_type(ir.getContext(), to);
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType())) {
    type = llvm::FixedVectorType::get(type, vector->getNumElements());
  }
  if (to == DType::kBool) return emit_compare(ir, KernelOp::kNe, from, x, llvm_zero(x->getType()));
  if (is_float(from)) {
    if (is_float(to)) return ir.CreateFPCast(x, type);
    return emit_float_to_integer(ir, to, x, type);
  }
  const bool has_sign = is_signed(from);
  if (is_float(to)) return has_sign ? ir.CreateSIToFP(x, type) : ir.CreateUIToFP(x, type);
  return ir.CreateIntCast(x, type, has_sign);
}

/// Keeps the bits. A bool is stored as a byte 0 or 1, which is its value as i8 or u8.
Value* emit_bitcast(llvm::IRBuilder<>& ir, DType from, DType to, Value* x) {
  if (from == DType::kBool || to == DType::kBool) return emit_convert(ir, from, to, x);
  llvm::Type* type = llvm_type(ir.getContext(), to);
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType())) {
    type = llvm::FixedVectorType::get(type, vector->getNumElements());
  }
  return ir.CreateBitCast(x, type);
}

Value* emit_shift(llvm::IRBuilder<>& ir, KernelOp op, DType dtype, Value* x, Value* count) {
  Value* masked = ir.CreateAnd(count, llvm::ConstantInt::get(count->getType(), size_bytes(dtype) * 8 - 1));
  if (op == KernelOp::kShl) return ir.CreateShl(x, masked);
  return is_signed(dtype) ? ir.CreateAShr(x, masked) : ir.CreateLShr(x, masked);
}

Value* emit_float_arith(llvm::IRBuilder<>& ir, const LlvmTarget& target, KernelOp op, llvm::ArrayRef<Value*> x) {
  using I = llvm::Intrinsic::IndependentIntrinsics;
  switch (op) {
    case KernelOp::kAdd:
      return ir.CreateFAdd(x[0], x[1]);
    case KernelOp::kSub:
      return ir.CreateFSub(x[0], x[1]);
    case KernelOp::kMul:
      return ir.CreateFMul(x[0], x[1]);
    case KernelOp::kDiv:
      return ir.CreateFDiv(x[0], x[1]);
    case KernelOp::kMulAdd:
      if (!target.has_fma) return ir.CreateFAdd(ir.CreateFMul(x[0], x[1]), x[2]);
      return ir.CreateIntrinsic(I::fma, {x[0]->getType()}, {x[0], x[1], x[2]});
    case KernelOp::kNeg:
      return ir.CreateFNeg(x[0]);
    case KernelOp::kAbs:
      return ir.CreateUnaryIntrinsic(I::fabs, x[0]);
    case KernelOp::kFloor:
      return ir.CreateUnaryIntrinsic(I::floor, x[0]);
    case KernelOp::kCeil:
      return ir.CreateUnaryIntrinsic(I::ceil, x[0]);
    case KernelOp::kTrunc:
      return ir.CreateUnaryIntrinsic(I::trunc, x[0]);
    case KernelOp::kRoundEven:
      return ir.CreateUnaryIntrinsic(I::roundeven, x[0]);
    case KernelOp::kSqrt:
      return ir.CreateUnaryIntrinsic(I::sqrt, x[0]);
    default:
      break;
  }
  MILLRACE_CHECK(false && "no such operation on floats");
  return nullptr;
}

Value* emit_integer_arith(llvm::IRBuilder<>& ir, KernelOp op, DType dtype, llvm::ArrayRef<Value*> x) {
  switch (op) {
    case KernelOp::kAdd:
      return ir.CreateAdd(x[0], x[1]);
    case KernelOp::kSub:
      return ir.CreateSub(x[0], x[1]);
    case KernelOp::kMul:
      return ir.CreateMul(x[0], x[1]);  // on i1, this is "and"
    case KernelOp::kDiv:
      return emit_integer_divide(ir, is_signed(dtype), x[0], x[1]);
    case KernelOp::kRem:
      return emit_integer_remainder(ir, is_signed(dtype), x[0], x[1]);
    case KernelOp::kMulAdd:
      return ir.CreateAdd(ir.CreateMul(x[0], x[1]), x[2]);
    case KernelOp::kNeg:
      return ir.CreateNeg(x[0]);
    case KernelOp::kAbs:
      return is_signed(dtype) ? ir.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x[0], ir.getFalse()) : x[0];
    case KernelOp::kAnd:
      return ir.CreateAnd(x[0], x[1]);
    case KernelOp::kOr:
      return ir.CreateOr(x[0], x[1]);
    case KernelOp::kXor:
      return ir.CreateXor(x[0], x[1]);
    case KernelOp::kShl:
    case KernelOp::kShr:
      return emit_shift(ir, op, dtype, x[0], x[1]);
    default:
      break;
  }
  MILLRACE_CHECK(false && "no such operation on integers");
  return nullptr;
}

}  // namespace

llvm::Type* llvm_type(llvm::LLVMContext& context, DType dtype) {
  if (dtype == DType::kBool) return llvm::Type::getInt1Ty(context);
  if (dtype == DType::kF32) return llvm::Type::getFloatTy(context);
  if (dtype == DType::kF64) return llvm::Type::getDoubleTy(context);
  return llvm::Type::getIntNTy(context, static_cast<unsigned>(size_bytes(dtype) * 8));
}

llvm::Type* llvm_type(llvm::LLVMContext& context, const VectorType& type) {
  llvm::Type* element = llvm_type(context, type.dtype);
  return type.lanes == 1 ? element : llvm::FixedVectorType::get(element, type.lanes);
}

llvm::Constant* llvm_zero(llvm::Type* type) { return llvm::Constant::getNullValue(type); }

llvm::Constant* emit_constant(llvm::LLVMContext& context, const VectorType& type, std::uint64_t bits) {
  llvm::Type* full = llvm_type(context, type);
  const auto width = static_cast<unsigned>(size_bytes(type.dtype) * 8);
  if (type.dtype == DType::kBool) return llvm::ConstantInt::get(full, bits != 0);
  if (!is_float(type.dtype)) return llvm::ConstantInt::get(full, llvm::APInt(width, bits));
  const auto& semantics = type.dtype == DType::kF32 ? llvm::APFloat::IEEEsingle() : llvm::APFloat::IEEEdouble();
  return llvm::ConstantFP::get(full, llvm::APFloat(semantics, llvm::APInt(width, bits)));
}

Value* emit_lanewise(llvm::IRBuilder<>& ir, const LlvmTarget& target, KernelOp op, DType from, DType to,
                     llvm::ArrayRef<Value*> x) {
  switch (op) {
    case KernelOp::kSelect:
      return ir.CreateSelect(x[0], x[1], x[2]);
    case KernelOp::kConvert:
      return emit_convert(ir, from, to, x[0]);
    case KernelOp::kBitcast:
      return emit_bitcast(ir, from, to, x[0]);
    case KernelOp::kMin:
    case KernelOp::kMax:
      return emit_min_max(ir, target, op == KernelOp::kMin, from, x[0], x[1]);
    default:
      break;
  }
  if (rule_of(op) == KernelOpRule::kCompare) return emit_compare(ir, op, from, x[0], x[1]);
  const bool divides = op == KernelOp::kDiv || op == KernelOp::kRem;
  if (divides && is_unsigned(from) && target.subgroup_size > 1) {
    return emit_integer_arith(ir, op, from, {hide_sign(ir, x[0]), x[1]});
  }
  return is_float(from) ? emit_float_arith(ir, target, op, x) : emit_integer_arith(ir, op, from, x);
}

Value* emit_reduce(llvm::IRBuilder<>& ir, const LlvmTarget& target, KernelOp op, DType dtype, Value* vector) {
  if (dtype == DType::kBool && vector->getType()->isVectorTy()) {
    return op == KernelOp::kReduceMax ? ir.CreateOrReduce(vector) : ir.CreateAndReduce(vector);
  }
  KernelOp combine = KernelOp::kAdd;
  if (op == KernelOp::kReduceMul) combine = KernelOp::kMul;
  if (op == KernelOp::kReduceMin) combine = KernelOp::kMin;
  if (op == KernelOp::kReduceMax) combine = KernelOp::kMax;
  while (auto* type = llvm::dyn_cast<llvm::FixedVectorType>(vector->getType())) {
    const unsigned half = type->getNumElements() / 2;
    if (half == 1) {
      Value* low = ir.CreateExtractElement(vector, std::uint64_t{0});
      vector = emit_lanewise(ir, target, combine, dtype, dtype, {low, ir.CreateExtractElement(vector, 1)});
      break;
    }
    std::vector<int> low(half), high(half);
    for (unsigned i = 0; i < half; ++i) {
      low[i] = static_cast<int>(i);
      high[i] = static_cast<int>(half + i);
    }
    vector = emit_lanewise(ir, target, combine, dtype, dtype,
                           {ir.CreateShuffleVector(vector, low), ir.CreateShuffleVector(vector, high)});
  }
  return vector;
}

}  // namespace millrace
