// SPDX-License-Identifier: Apache-2.0
// Three sums in one walk over a picture, and two results of them.
#include "examples/own_kernels/kernels.h"
#include "millrace/jit/loop_kernel_builder.h"

namespace own {

using namespace millrace;

KernelResults centroid(GraphBuilder& graph, Tensor x) {
  return graph.kernel("centroid", {x}, [&](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const Shape& shape = x.shape();
    const AffineIndex picture = k.parallel("picture", shape[0]);
    const AffineIndex h = k.reduction("h", shape[1]), w = k.reduction("w", shape[2]);
    BodyBuilder& b = k.term();
    const BodyValue weight = k.load(b, in[0], {picture, h, w});
    const auto weighted = [&](const AffineIndex& index) {
      return b.mul(weight, b.convert(DType::kF32, k.index(b, index)));
    };
    const BodyValue total = k.reduce(ReductionKind::kSum, weight);
    const BodyValue rows = k.reduce(ReductionKind::kSum, weighted(h));
    const BodyValue columns = k.reduce(ReductionKind::kSum, weighted(w));
    BodyBuilder& once = k.epilogue();
    k.store("rows", {DType::kF32, {shape[0]}}, {picture}, once.div(rows, total));
    k.store("columns", {DType::kF32, {shape[0]}}, {picture}, once.div(columns, total));
  });
}

}  // namespace own
