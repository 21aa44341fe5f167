// SPDX-License-Identifier: Apache-2.0
// A distance and the argument of its minimum: no table of distances is stored.
#include "examples/own_kernels/kernels.h"
#include "millrace/jit/loop_kernel_builder.h"

namespace own {

using namespace millrace;

KernelResults nearest_centre(GraphBuilder& graph, Tensor points, Tensor centres) {
  return graph.kernel("nearest_centre", {points, centres}, [&](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const AffineIndex point = k.parallel("point", points.shape()[0]);
    const AffineIndex centre = k.reduction("centre", centres.shape()[0]);
    BodyBuilder& b = k.term();
    BodyValue distance = b.constant(DType::kF32, 0);
    for (const std::int64_t axis : {0, 1, 2}) {
      const AffineIndex at{axis, {}};
      const BodyValue apart = b.sub(k.load(b, in[0], {point, at}), k.load(b, in[1], {centre, at}));
      distance = b.mul_add(apart, apart, distance);
    }
    k.store("nearest", {DType::kI64, {points.shape()[0]}}, {point}, k.reduce(ReductionKind::kArgMin, distance));
  });
}

}  // namespace own
