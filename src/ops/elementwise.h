// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "ops/infer.h"

namespace millrace::ops {

/// Calls a body with or without the attributes, whichever it accepts.
template <auto kBody, class B, class X>
auto call_body(B& b, X x, const Attributes& attributes) {
  if constexpr (std::is_invocable_v<decltype(kBody), B&, X, const Attributes&>) {
    return kBody(b, x, attributes);
  } else {
    return kBody(b, x);
  }
}

/// Converts x to f32 by round-to-odd: a value that f32 cannot hold is rounded towards zero and gets its last bit set,
/// so that rounding the result to 16 bits is correct.
template <class B, class V>
V round_to_odd(B& b, V x) {
  const V nearest = b.convert(DType::kF32, x);
  if (x.dtype == DType::kBool || x.dtype == DType::kF32 || size_bytes(x.dtype) < 4) return nearest;
  const V back = b.convert(x.dtype, nearest);
  const V zero = b.constant_like(x, 0);
  const V is_away = b.select(b.lt(x, zero), b.lt(back, x), b.lt(x, back));
  const V bits = b.bitcast(DType::kI32, nearest);
  const V one = b.constant_int(DType::kI32, 1);
  const V towards_zero = b.select(is_away, b.sub(bits, one), bits);
  return b.bitcast(DType::kF32, b.select(b.ne(back, x), b.bit_or(towards_zero, one), bits));
}

/// A map over the result's shape that loads every operand at the result's point. `reads_bits` is OpDef::reads_bits.
Result<std::vector<KernelRequest>> build_elementwise(const OpInstance& node, BodyFunction body,
                                                     bool reads_bits = false);

/// Defines an op by its body: `[](auto& b, auto x) { return b.add(x[0], x[1]); }`, with the attributes as an optional
/// third parameter. The body sees f16 and bf16 operands as f32, unless it reads bits.
template <auto kBody, bool kReadsBits = false>
OpDef elementwise(InferFunction infer) {
  OpDef def;
  def.infer = infer;
  def.reads_bits = kReadsBits;
  def.body = [](BodyBuilder& b, BodyOperands<BodyBuilder> x, const Attributes& attributes) -> BodyValue {
    return call_body<kBody>(b, x, attributes);
  };
  def.host = [](HostEval& b, BodyOperands<HostEval> x, const Attributes& attributes) -> Scalar {
    return call_body<kBody>(b, x, attributes);
  };
  def.build = [](const OpInstance& node) {
    return build_elementwise(
        node,
        [](BodyBuilder& b, BodyOperands<BodyBuilder> x, const Attributes& attributes) -> BodyValue {
          return call_body<kBody>(b, x, attributes);
        },
        kReadsBits);
  };
  return def;
}

}  // namespace millrace::ops
