// SPDX-License-Identifier: Apache-2.0
// A gather inside a reduction. Each id is checked before it is used; a wrong one fails the run.
#include "examples/own_kernels/kernels.h"
#include "millrace/jit/loop_kernel_builder.h"

namespace own {

using namespace millrace;

KernelResults embedding_bag(GraphBuilder& graph, Tensor table, Tensor ids) {
  return graph.kernel("embedding_bag", {table, ids}, [&](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const SizeExpr bags = ids.shape()[0], width = table.shape()[1];
    const AffineIndex bag = k.parallel("bag", bags), column = k.parallel("column", width);
    const AffineIndex i = k.reduction("i", ids.shape()[1]);
    BodyBuilder& b = k.term();
    const BodyValue id = b.check_index(k.load(b, in[1], {bag, i}), k.extent(b, table.shape()[0]));
    const BodyValue element = k.load(b, in[0], {AffineIndex{}, column}, {.gather_index = id, .gather_dim = 0});
    const BodyValue sum = k.reduce(ReductionKind::kSum, element);
    BodyBuilder& once = k.epilogue();
    const BodyValue count = once.convert(DType::kF32, k.extent(once, ids.shape()[1]));
    k.store("y", {DType::kF32, {bags, width}}, {bag, column}, once.div(sum, count));
  });
}

}  // namespace own
