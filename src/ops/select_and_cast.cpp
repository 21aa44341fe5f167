// SPDX-License-Identifier: Apache-2.0
// Elementwise ops whose operands differ, or that have attributes.
#include "ops/elementwise.h"

namespace millrace {

using namespace ops;

namespace {

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
