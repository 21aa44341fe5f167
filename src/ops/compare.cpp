// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic, select and cast: elementwise ops whose result is not like their operands, or which take bool.
#include "ops/elementwise.h"

namespace millrace {

using namespace ops;

namespace {

constexpr DTypeSet kLogical = {kIntegers.bits | kBoolOnly.bits, "bool or an integer"};

InferResult infer_compare(Types operands, const Attributes&) {
  MILLRACE_TRY(expect_alike(operands, kArithmetic));
  return std::vector<TensorType>{{DType::kBool, operands[0].shape}};
}

InferResult infer_is_nan(Types operands, const Attributes&) {
  MILLRACE_TRY(expect_alike(operands, kFloats));
  return std::vector<TensorType>{{DType::kBool, operands[0].shape}};
}

InferResult infer_equality(Types operands, const Attributes&) {
  MILLRACE_TRY(expect_like(operands, 1, 0));
  return std::vector<TensorType>{{DType::kBool, operands[0].shape}};
}

InferResult infer_logical(Types operands, const Attributes&) {
  MILLRACE_TRY(expect_alike(operands, kLogical));
  return std::vector<TensorType>{operands[0]};
}

InferResult infer_select(Types operands, const Attributes&) {
  MILLRACE_TRY(expect_dtype(operands, 0, kBoolOnly));
  const TensorType like_condition[] = {{operands[1].dtype, operands[0].shape}, operands[1]};
  MILLRACE_TRY(expect_like(operands, 2, 1));
  if (like_condition[0] != like_condition[1]) {
    return invalid_argument("operand 1 is " + operands[1].to_text() + ", expected " + like_condition[0].to_text() +
                            " in the shape of operand 0; insert a broadcast");
  }
  return std::vector<TensorType>{operands[1]};
}

InferResult infer_cast(Types operands, const Attributes& attributes) {
  return std::vector<TensorType>{{std::get<CastAttrs>(attributes).dtype, operands[0].shape}};
}

}  // namespace

OpDef define_equal() {
  return elementwise<[](auto& b, auto x) { return b.eq(x[0], x[1]); }>(infer_equality);
}

OpDef define_not_equal() {
  return elementwise<[](auto& b, auto x) { return b.ne(x[0], x[1]); }>(infer_equality);
}

OpDef define_is_nan() {
  return elementwise<[](auto& b, auto x) { return b.ne(x[0], x[0]); }>(infer_is_nan);
}

OpDef define_less() {
  return elementwise<[](auto& b, auto x) { return b.lt(x[0], x[1]); }>(infer_compare);
}

OpDef define_less_equal() {
  return elementwise<[](auto& b, auto x) { return b.le(x[0], x[1]); }>(infer_compare);
}

OpDef define_greater() {
  return elementwise<[](auto& b, auto x) { return b.gt(x[0], x[1]); }>(infer_compare);
}

OpDef define_greater_equal() {
  return elementwise<[](auto& b, auto x) { return b.ge(x[0], x[1]); }>(infer_compare);
}

OpDef define_logical_and() {
  return elementwise<[](auto& b, auto x) { return b.bit_and(x[0], x[1]); }>(infer_logical);
}

OpDef define_logical_or() {
  return elementwise<[](auto& b, auto x) { return b.bit_or(x[0], x[1]); }>(infer_logical);
}

OpDef define_logical_xor() {
  return elementwise<[](auto& b, auto x) { return b.bit_xor(x[0], x[1]); }>(infer_logical);
}

OpDef define_logical_not() {
  return elementwise<[](auto& b, auto x) {
    return b.bit_xor(x[0], b.constant_int(x[0].dtype, x[0].dtype == DType::kBool ? 1 : -1));
  }>(infer_logical);
}

/// On the host the chosen scalar is taken as it is, in f16 and bf16 too.
OpDef define_select() {
  OpDef def = elementwise<[](auto& b, auto x) { return b.select(x[0], x[1], x[2]); }>(infer_select);
  def.host = [](HostEval&, std::span<const Scalar> x, const Attributes&) { return x[0].bits != 0 ? x[1] : x[2]; };
  return def;
}

/// To f16 and bf16 the body rounds and widens again: the value in the register is the rounded one, so what is fused
/// behind the cast sees what it would have loaded. Only f32 converts to 16 bits, so others come through it first,
/// rounded to odd: that keeps enough for the second rounding to be the right one.
OpDef define_cast() {
  OpDef def = elementwise<[](auto& b, auto x, const Attributes& attributes) {
    const DType to = std::get<CastAttrs>(attributes).dtype;
    if (to != DType::kF16 && to != DType::kBF16) return b.convert(to, x[0]);
    return b.convert(DType::kF32, b.convert(to, round_to_odd(b, x[0])));
  }>(infer_cast);
  def.host = [](HostEval& b, std::span<const Scalar> x, const Attributes& attributes) {
    return b.convert(std::get<CastAttrs>(attributes).dtype, x[0]);
  };
  return def;
}

}  // namespace millrace
