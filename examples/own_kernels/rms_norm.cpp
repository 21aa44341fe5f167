// SPDX-License-Identifier: Apache-2.0
// A norm of rows: two passes over each row, which stays in cache between them.
#include "examples/own_kernels/kernels.h"
#include "millrace/jit/loop_kernel_builder.h"

namespace own {

using namespace millrace;

KernelResults rms_norm(GraphBuilder& graph, Tensor x, Tensor scale) {
  return graph.kernel("rms_norm", {x, scale}, [&](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const SizeExpr rows = x.shape()[0], columns = x.shape()[1];
    const AffineIndex m = k.parallel("m", rows), n = k.reduction("n", columns);
    // The first pass adds up the squares.
    BodyBuilder& squares = k.term();
    const BodyValue element = k.load(squares, in[0], {m, n});
    const BodyValue sum = k.reduce(ReductionKind::kSum, squares.mul(element, element));
    // The second pass reads the row again, and stores.
    BodyBuilder& scaled = k.next_pass();
    const BodyValue count = scaled.convert(DType::kF32, k.extent(scaled, columns));
    const BodyValue mean = scaled.add(scaled.div(k.reduced(sum), count), scaled.constant(DType::kF32, 1e-5));
    const BodyValue factor = scaled.div(scaled.constant(DType::kF32, 1), scaled.sqrt(mean));
    const BodyValue normal = scaled.mul(k.load(scaled, in[0], {m, n}), factor);
    k.store_in_pass("y", x.type(), {m, n}, scaled.mul(normal, k.load(scaled, in[1], {n})));
  });
}

}  // namespace own
