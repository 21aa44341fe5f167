// SPDX-License-Identifier: Apache-2.0
// The definitions of elementwise ops with operands of different dtypes, or with attributes.
#include <fmt/format.h>

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

InferResult infer_bit_cast(Types operands, const Attributes& attributes) {
  MILLRACE_TRY_ASSIGN(const Inference result, infer_cast(operands, attributes));
  const DType from = operands[0].dtype, to = result.results[0].dtype;
  if (!broken_limit(result.results[0]).empty()) return result;  // an unknown dtype, which the caller refuses
  if (from == DType::kBool || to == DType::kBool || size_bytes(from) != size_bytes(to)) {
    return invalid_argument(fmt::format(
        "operand 0 is {} and dtype {}, expected dtypes of one size, neither of them bool; choose another, or insert a "
        "cast",
        operands[0].to_text(), to_text(to)));
  }
  return result;
}

}  // namespace

/// The host returns the chosen scalar unchanged, even for f16 and bf16.
OpDef define_select() {
  OpDef def = elementwise<[](auto& b, auto x) { return b.select(x[0], x[1], x[2]); }>(infer_select);
  def.host = [](HostEval&, BodyOperands<HostEval> x, const Attributes&) { return x[0].bits != 0 ? x[1] : x[2]; };
  return def;
}

/// A cast to f16 or bf16 rounds and widens again, so that nodes fused after it see the value that they would have
/// loaded. Only f32 converts to 16 bits. Other dtypes are first rounded to f32 by round-to-odd, which makes the second
/// rounding correct.
OpDef define_cast() {
  OpDef def = elementwise<[](auto& b, auto x, const Attributes& attributes) {
    const DType to = std::get<CastAttrs>(attributes).dtype;
    if (to != DType::kF16 && to != DType::kBF16) return b.convert(to, x[0]);
    return b.convert(DType::kF32, b.convert(to, round_to_odd(b, x[0])));
  }>(infer_cast);
  def.host = [](HostEval& b, BodyOperands<HostEval> x, const Attributes& attributes) {
    return b.convert(std::get<CastAttrs>(attributes).dtype, x[0]);
  };
  return def;
}

/// A 16-bit float is passed and returned in its own dtype, so its bits are those in memory.
OpDef define_bit_cast() {
  constexpr auto kBody = [](auto& b, auto x, const Attributes& attributes) {
    return b.bitcast(std::get<CastAttrs>(attributes).dtype, x[0]);
  };
  constexpr bool kReadsBits = true;
  return elementwise<kBody, kReadsBits>(infer_bit_cast);
}

}  // namespace millrace
