// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "ops/infer.h"

namespace millrace::ops {

/// Calls a body that takes the attributes, or one that has none.
template <auto kBody, class B, class X>
auto call_body(B& b, X x, const Attributes& attributes) {
  if constexpr (std::is_invocable_v<decltype(kBody), B&, X, const Attributes&>) {
    return kBody(b, x, attributes);
  } else {
    return kBody(b, x);
  }
}

/// A map over the result's shape: every operand is loaded at the result's own point.
Result<std::vector<KernelRequest>> build_elementwise(const OpInstance& node, BodyFunction body);

/// An op that is its body: `[](auto& b, auto x) { return b.add(x[0], x[1]); }`, or with the attributes as a third
/// parameter. The body sees f16 and bf16 operands as f32.
template <auto kBody>
OpDef elementwise(InferFunction infer) {
  OpDef def;
  def.infer = infer;
  def.body = [](BodyBuilder& b, std::span<const BodyValue> x, const Attributes& attributes) -> BodyValue {
    return call_body<kBody>(b, x, attributes);
  };
  def.host = [](HostEval& b, std::span<const Scalar> x, const Attributes& attributes) -> Scalar {
    return call_body<kBody>(b, x, attributes);
  };
  def.build = [](const OpInstance& node) {
    return build_elementwise(
        node, [](BodyBuilder& b, std::span<const BodyValue> x, const Attributes& attributes) -> BodyValue {
          return call_body<kBody>(b, x, attributes);
        });
  };
  return def;
}

/// Type rules of elementwise ops: operands alike, the result like them.
InferResult infer_arithmetic(Types operands, const Attributes&);
InferResult infer_floats(Types operands, const Attributes&);
InferResult infer_integers(Types operands, const Attributes&);

}  // namespace millrace::ops
