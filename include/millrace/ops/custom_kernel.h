// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <utility>

#include "millrace/jit/body.h"
#include "millrace/ops/attributes.h"

namespace millrace {

/// A body as it is recorded into a kernel, and as it is computed on the host. Operands of f16 and bf16 come as f32.
using BodyFunction = BodyValue (*)(BodyBuilder&, std::span<const BodyValue>, const Attributes&);
using HostFunction = Scalar (*)(HostEval&, std::span<const Scalar>, const Attributes&);

/// An application's own elementwise kernel, fused and compiled like ours. `Body` is a builder template:
///
///     #include "millrace/ops/bodies.h"
///     struct Swish {
///       static auto emit(auto& b, auto x) { return b.mul(x[0], bodies::sigmoid(b, x[0])); }
///     };
///     Tensor y = graph.kernel<Swish>("swish", x);
///
/// Operands have one shape; the result has that shape and the dtype of the value that emit returns, f16 and bf16 by
/// b.convert too. Math on floats refuses integers, which emit converts. A graph, and ParseOptions::kernels, have one
/// kernel of a name.
struct CustomKernel {
  std::string name;
  BodyFunction body = nullptr;
  HostFunction host = nullptr;
  friend bool operator==(const CustomKernel& a, const CustomKernel& b) { return a.name == b.name && a.body == b.body; }
};

template <class Body>
CustomKernel make_custom_kernel(std::string name) {
  return {std::move(name),
          [](BodyBuilder& b, std::span<const BodyValue> x, const Attributes&) -> BodyValue { return Body::emit(b, x); },
          [](HostEval& b, std::span<const Scalar> x, const Attributes&) -> Scalar { return Body::emit(b, x); }};
}

}  // namespace millrace
