// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "millrace/jit/body.h"
#include "millrace/ops/attributes.h"

namespace millrace {

/// A body that is recorded into a kernel, or evaluated on the host. f16 and bf16 operands are passed as f32.
using BodyFunction = BodyValue (*)(BodyBuilder&, BodyOperands<BodyBuilder>, const Attributes&);
using HostFunction = Scalar (*)(HostEval&, BodyOperands<HostEval>, const Attributes&);

/// An application's own elementwise kernel, fused and compiled like the built-in ops. `Body` is a builder template:
///
///     #include "millrace/ops/bodies.h"
///     struct Swish {
///       static auto emit(auto& b, auto x) { return b.mul(x[0], bodies::sigmoid(b, x[0])); }
///     };
///     Tensor y = graph.kernel<Swish>("swish", x);
///
/// `x` is a BodyOperands: reading an operand that was not passed is an error; its message gives the kernel's name, the
/// index and the number of operands. `emit` must build the same operations each time it is called. All operands have
/// the same shape. The result has that shape and the dtype of the value that emit returns; b.convert makes it f16 or
/// bf16. Math functions of floats reject integers; emit must convert them. Within a graph, and within
/// ParseOptions::kernels, a name stands for one kernel.
struct CustomKernel {
  std::string name;
  BodyFunction body = nullptr;
  HostFunction host = nullptr;
  friend bool operator==(const CustomKernel& a, const CustomKernel& b) { return a.name == b.name && a.body == b.body; }
};

template <class Body>
CustomKernel make_custom_kernel(std::string name) {
  return {std::move(name),
          [](BodyBuilder& b, BodyOperands<BodyBuilder> x, const Attributes&) -> BodyValue { return Body::emit(b, x); },
          [](HostEval& b, BodyOperands<HostEval> x, const Attributes&) -> Scalar { return Body::emit(b, x); }};
}

}  // namespace millrace
