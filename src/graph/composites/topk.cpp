// SPDX-License-Identifier: Apache-2.0
// topk of elements that carry indices, as a topk and a lookup of the indices.
#include "graph/composites/composite.h"

namespace millrace {

ValuesAndIndices topk(Tensor x, Tensor indices, SizeExpr k, TopKAttrs attributes) {
  return build_composite({x, indices}, [&](Composite& composite) -> ValuesAndIndices {
    GraphBuilder& graph = *x.builder();
    if (!is_integer(indices.dtype()) || indices.shape() != x.shape()) {
      composite.refuse(
          fmt::format("indices are {}, expected integers of the shape of operand 0, {}; reshape or cast them",
                      indices.type().to_text(), x.type().to_text()));
      return {};
    }
    const std::int64_t axis = attributes.axis;
    ValuesAndIndices top = topk(x, std::move(k), std::move(attributes));
    top.indices = graph.op1(Op::take_along_axis, {indices, top.indices}, GatherAttrs{axis});
    return top;
  });
}

}  // namespace millrace
