// SPDX-License-Identifier: Apache-2.0
// Two results of different shapes: one is stored at each point of a pass, the other once per block.
#include "examples/own_kernels/kernels.h"
#include "millrace/jit/loop_kernel_builder.h"

namespace own {

using namespace millrace;

KernelResults quantise(GraphBuilder& graph, Tensor x) {
  constexpr std::int64_t kBlock = 32;
  return graph.kernel("quantise", {x}, [&](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const SizeExpr rows = x.shape()[0], blocks = floor_div(x.shape()[1], kBlock);
    const AffineIndex m = k.parallel("m", rows), block = k.parallel("block", blocks), i = k.reduction("i", kBlock);
    const std::vector<AffineIndex> at = {m, block * kBlock + i};
    BodyBuilder& sizes = k.term();
    const BodyValue largest = k.reduce(ReductionKind::kMax, sizes.abs(k.load(sizes, in[0], at)));
    // 1 / scale, or 0 for a block of zeros.
    BodyBuilder& b = k.next_pass();
    const BodyValue zero = b.constant(DType::kF32, 0), limit = b.constant(DType::kF32, 127);
    const BodyValue inverse = b.select(b.gt(k.reduced(largest), zero), b.div(limit, k.reduced(largest)), zero);
    const BodyValue number = b.round_even(b.mul(k.load(b, in[0], at), inverse));
    k.store_in_pass("q", {DType::kI8, {rows, blocks * kBlock}}, at, b.convert(DType::kI8, number));
    BodyBuilder& once = k.epilogue();
    k.store("scales", {DType::kF32, {rows, blocks}}, {m, block},
            once.mul(largest, once.constant(DType::kF32, 1.0 / 127)));
  });
}

}  // namespace own
