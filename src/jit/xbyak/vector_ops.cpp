// SPDX-License-Identifier: Apache-2.0
// The x86 instructions for each kernel op of an epilogue, as a table.
#include "jit/xbyak/vector_ops.h"

namespace millrace {
namespace {

using A = VectorAssembler;
using O = VectorOperands;

constexpr std::uint32_t kSignBit = 0x80000000u;

void emit_neg(A& a, const O& o) {
  a.broadcast_constant(o.scratch[0], kSignBit);
  a.vxorps(o.result, o.source[0], o.scratch[0]);
}

void emit_abs(A& a, const O& o) {
  a.broadcast_constant(o.scratch[0], ~kSignBit);
  a.vandps(o.result, o.source[0], o.scratch[0]);
}

void emit_mul_add(A& a, const O& o) {
  a.vmovaps(o.scratch[0], o.source[0]);
  a.vfmadd213ps(o.scratch[0], o.source[1], o.source[2]);
  a.vmovaps(o.result, o.scratch[0]);
}

/// Emits a minimum or maximum. vrangeps orders -0 below +0, but returns the number if one operand is a NaN; adding the
/// operands restores the NaN.
void emit_range(A& a, const O& o, std::uint8_t selector) {
  constexpr std::uint8_t kUnordered = 3;
  a.vcmpps(a.k2, o.source[0], o.source[1], kUnordered);
  a.vrangeps(o.scratch[0], o.source[0], o.source[1], selector);
  a.vaddps(o.scratch[0] | a.k2, o.source[0], o.source[1]);
  a.vmovaps(o.result, o.scratch[0]);
}

/// For a NaN, or zeros of either sign, vminps returns its second operand; the OR of the results in both orders has the
/// right bits.
void emit_min(A& a, const O& o) {
  if (a.is_avx512()) return emit_range(a, o, 0b0100);
  a.vminps(o.scratch[0], o.source[0], o.source[1]);
  a.vminps(o.scratch[1], o.source[1], o.source[0]);
  a.vorps(o.result, o.scratch[0], o.scratch[1]);
}

/// Like emit_min, except for zeros: if the two orders return zeros of different signs, their OR and their XOR are both
/// -0, and the OR minus the XOR is +0. A NaN stays a NaN.
void emit_max(A& a, const O& o) {
  if (a.is_avx512()) return emit_range(a, o, 0b0101);
  a.vmaxps(o.scratch[0], o.source[0], o.source[1]);
  a.vmaxps(o.scratch[1], o.source[1], o.source[0]);
  a.vxorps(o.scratch[1], o.scratch[1], o.scratch[0]);
  a.vorps(o.scratch[0], o.scratch[0], o.scratch[1]);
  a.vsubps(o.result, o.scratch[0], o.scratch[1]);
}

template <std::uint8_t mode>
void emit_round(A& a, const O& o) {
  constexpr std::uint8_t kNoInexact = 8;
  if (a.is_avx512()) {
    a.vrndscaleps(o.result, o.source[0], mode | kNoInexact);
  } else {
    a.vroundps(o.result, o.source[0], mode | kNoInexact);
  }
}

template <std::uint8_t predicate>
void emit_compare(A& a, const O& o) {
  if (a.is_avx512()) {
    a.vcmpps(a.k2, o.source[0], o.source[1], predicate);
    a.vpmovm2d(o.result, a.k2);
  } else {
    a.vcmpps(o.result, o.source[0], o.source[1], predicate);
  }
}

void emit_select(A& a, const O& o) {
  if (a.is_avx512()) {
    a.vpmovd2m(a.k2, o.source[0]);
    a.vblendmps(o.result | a.k2, o.source[2], o.source[1]);
  } else {
    a.vblendvps(o.result, o.source[2], o.source[1], o.source[0]);
  }
}

void emit_bool_equal(A& a, const O& o) {
  a.broadcast_constant(o.scratch[0], ~0u);
  a.vxorps(o.scratch[0], o.scratch[0], o.source[0]);
  a.vxorps(o.result, o.scratch[0], o.source[1]);
}

void emit_move(A& a, const O& o) { a.vmovaps(o.result, o.source[0]); }

void emit_float_to_bool(A& a, const O& o) {
  constexpr std::uint8_t kNotEqual = 4;
  a.zero(o.scratch[0]);
  emit_compare<kNotEqual>(a, {o.result, {o.source[0], o.scratch[0], o.scratch[0]}, o.scratch});
}

void emit_bool_to_float(A& a, const O& o) {
  a.broadcast_constant(o.scratch[0], 0x3f800000u);  // 1.0
  a.vandps(o.result, o.source[0], o.scratch[0]);
}

/// vcvttps2dq returns 0x80000000 for every float that does not fit. That is right for floats below the range. For
/// floats above it, the bits are inverted; for a NaN, they are cleared.
void emit_float_to_int(A& a, const O& o) {
  constexpr std::uint8_t kGreaterEqual = 0x1d, kOrdered = 7;
  a.broadcast_constant(o.scratch[0], 0x4f000000u);  // 2^31
  emit_compare<kGreaterEqual>(a, {o.scratch[0], {o.source[0], o.scratch[0], o.scratch[0]}, o.scratch});
  a.vcvttps2dq(o.scratch[1], o.source[0]);
  a.vxorps(o.scratch[1], o.scratch[1], o.scratch[0]);
  emit_compare<kOrdered>(a, {o.scratch[0], {o.source[0], o.source[0], o.source[0]}, o.scratch});
  a.vandps(o.result, o.scratch[0], o.scratch[1]);
}

void emit_int_neg(A& a, const O& o) {
  a.zero(o.scratch[0]);
  a.vpsubd(o.result, o.scratch[0], o.source[0]);
}

/// Reduces counts modulo 32. Without this, the instructions would return 0 or copies of the sign for counts of 32 or
/// more.
template <auto instruction>
void emit_shift(A& a, const O& o) {
  a.broadcast_constant(o.scratch[0], 31);
  a.vandps(o.scratch[0], o.scratch[0], o.source[1]);
  (a.*instruction)(o.result, o.source[0], o.scratch[0]);
}
constexpr auto kShiftLeft = &Xbyak::CodeGenerator::vpsllvd;
constexpr auto kShiftRight = &Xbyak::CodeGenerator::vpsravd;
constexpr auto kShiftRightLogical = &Xbyak::CodeGenerator::vpsrlvd;

void emit_int_equal(A& a, const O& o) {
  if (a.is_avx512()) {
    a.vpcmpd(a.k2, o.source[0], o.source[1], 0);
    a.vpmovm2d(o.result, a.k2);
  } else {
    a.vpcmpeqd(o.result, o.source[0], o.source[1]);
  }
}

void emit_int_less(A& a, const O& o) {
  if (a.is_avx512()) {
    a.vpcmpd(a.k2, o.source[0], o.source[1], 1);
    a.vpmovm2d(o.result, a.k2);
  } else {
    a.vpcmpgtd(o.result, o.source[1], o.source[0]);
  }
}

/// Emits a comparison as the complement of the comparison `emit` of the operands `first` and `second`.
template <auto emit, int first, int second>
void emit_inverted(A& a, const O& o) {
  emit(a, {o.scratch[0], {o.source[first], o.source[second], o.source[2]}, o.scratch});
  a.broadcast_constant(o.scratch[1], ~0u);
  a.vxorps(o.result, o.scratch[0], o.scratch[1]);
}

#define MILLRACE_DIRECT(instruction) [](A& a, const O& o) { a.instruction(o.result, o.source[0], o.source[1]); }

constexpr unsigned set_of(DType dtype) { return 1u << static_cast<unsigned>(dtype); }
constexpr unsigned kBool = set_of(DType::kBool), kF32 = set_of(DType::kF32), kI32 = set_of(DType::kI32),
                   kU32 = set_of(DType::kU32), kInts = kI32 | kU32, kAll = kF32 | kInts | kBool;

constexpr VectorOp kVectorOps[] = {
    {KernelOp::kAdd, kF32, kF32, 0, MILLRACE_DIRECT(vaddps)},
    {KernelOp::kSub, kF32, kF32, 0, MILLRACE_DIRECT(vsubps)},
    {KernelOp::kMul, kF32, kF32, 0, MILLRACE_DIRECT(vmulps)},
    {KernelOp::kDiv, kF32, kF32, 0, MILLRACE_DIRECT(vdivps)},
    {KernelOp::kMulAdd, kF32, kF32, 1, emit_mul_add},
    {KernelOp::kNeg, kF32, kF32, 1, emit_neg},
    {KernelOp::kAbs, kF32, kF32, 1, emit_abs},
    {KernelOp::kMin, kF32, kF32, 2, emit_min},
    {KernelOp::kMax, kF32, kF32, 2, emit_max},
    {KernelOp::kFloor, kF32, kF32, 0, emit_round<1>},
    {KernelOp::kCeil, kF32, kF32, 0, emit_round<2>},
    {KernelOp::kTrunc, kF32, kF32, 0, emit_round<3>},
    {KernelOp::kRoundEven, kF32, kF32, 0, emit_round<0>},
    {KernelOp::kSqrt, kF32, kF32, 0, [](A& a, const O& o) { a.vsqrtps(o.result, o.source[0]); }},
    {KernelOp::kEq, kF32, kBool, 0, emit_compare<0>},
    {KernelOp::kNe, kF32, kBool, 0, emit_compare<4>},
    {KernelOp::kLt, kF32, kBool, 0, emit_compare<0x11>},
    {KernelOp::kLe, kF32, kBool, 0, emit_compare<0x12>},
    {KernelOp::kSelect, kAll, kAll, 0, emit_select},
    {KernelOp::kAnd, kInts | kBool, kInts | kBool, 0, MILLRACE_DIRECT(vandps)},
    {KernelOp::kOr, kInts | kBool, kInts | kBool, 0, MILLRACE_DIRECT(vorps)},
    {KernelOp::kXor, kInts | kBool, kInts | kBool, 0, MILLRACE_DIRECT(vxorps)},
    {KernelOp::kMul, kBool, kBool, 0, MILLRACE_DIRECT(vandps)},
    {KernelOp::kNe, kBool, kBool, 0, MILLRACE_DIRECT(vxorps)},
    {KernelOp::kEq, kBool, kBool, 1, emit_bool_equal},
    {KernelOp::kConvert, kF32, kI32, 2, emit_float_to_int},
    {KernelOp::kConvert, kI32, kF32, 0, [](A& a, const O& o) { a.vcvtdq2ps(o.result, o.source[0]); }},
    {KernelOp::kConvert, kF32, kBool, 1, emit_float_to_bool},
    {KernelOp::kConvert, kBool, kF32, 1, emit_bool_to_float},
    {KernelOp::kConvert, kInts, kInts, 0, emit_move},
    {KernelOp::kBitcast, kF32 | kInts, kF32 | kInts, 0, emit_move},
    {KernelOp::kAdd, kInts, kInts, 0, MILLRACE_DIRECT(vpaddd)},
    {KernelOp::kSub, kInts, kInts, 0, MILLRACE_DIRECT(vpsubd)},
    {KernelOp::kMul, kInts, kInts, 0, MILLRACE_DIRECT(vpmulld)},
    {KernelOp::kNeg, kI32, kI32, 1, emit_int_neg},
    {KernelOp::kAbs, kI32, kI32, 0, [](A& a, const O& o) { a.vpabsd(o.result, o.source[0]); }},
    {KernelOp::kMin, kI32, kI32, 0, MILLRACE_DIRECT(vpminsd)},
    {KernelOp::kMax, kI32, kI32, 0, MILLRACE_DIRECT(vpmaxsd)},
    {KernelOp::kMin, kU32, kU32, 0, MILLRACE_DIRECT(vpminud)},
    {KernelOp::kMax, kU32, kU32, 0, MILLRACE_DIRECT(vpmaxud)},
    {KernelOp::kShl, kInts, kInts, 1, emit_shift<kShiftLeft>},
    {KernelOp::kShr, kI32, kI32, 1, emit_shift<kShiftRight>},
    {KernelOp::kShr, kU32, kU32, 1, emit_shift<kShiftRightLogical>},
    {KernelOp::kEq, kInts, kBool, 0, emit_int_equal},
    {KernelOp::kNe, kInts, kBool, 2, emit_inverted<emit_int_equal, 0, 1>},
    {KernelOp::kLt, kI32, kBool, 0, emit_int_less},
    {KernelOp::kLe, kI32, kBool, 2, emit_inverted<emit_int_less, 1, 0>},
};
#undef MILLRACE_DIRECT

}  // namespace

const VectorOp* find_vector_op(KernelOp op, DType operand, DType result) {
  for (const VectorOp& row : kVectorOps) {
    if (row.op == op && (row.operands & set_of(operand)) != 0 && (row.results & set_of(result)) != 0) return &row;
  }
  return nullptr;
}

}  // namespace millrace
