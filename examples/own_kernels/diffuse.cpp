// SPDX-License-Identifier: Apache-2.0
// A stencil with a rule for its edges: loads outside the tensor give a fill value, and touch no memory.
#include "examples/own_kernels/kernels.h"
#include "millrace/jit/loop_kernel_builder.h"

namespace own {

using namespace millrace;

KernelResults diffuse(GraphBuilder& graph, Tensor x, double rate) {
  return graph.kernel("diffuse", {x}, [&](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const AffineIndex h = k.parallel("h", x.shape()[0]), w = k.parallel("w", x.shape()[1]);
    BodyBuilder& b = k.epilogue();
    const LoadOptions or_zero{.fill = Scalar::of(0.0f)};
    const BodyValue up = k.load(b, in[0], {h - 1, w}, or_zero), down = k.load(b, in[0], {h + 1, w}, or_zero);
    const BodyValue left = k.load(b, in[0], {h, w - 1}, or_zero), right = k.load(b, in[0], {h, w + 1}, or_zero);
    const BodyValue centre = k.load(b, in[0], {h, w});
    const BodyValue around = b.add(b.add(up, down), b.add(left, right));
    const BodyValue change = b.sub(around, b.mul(centre, b.constant(DType::kF32, 4)));
    k.store("y", x.type(), {h, w}, b.mul_add(change, b.constant(DType::kF32, rate), centre));
  });
}

}  // namespace own
