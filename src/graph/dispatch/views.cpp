// SPDX-License-Identifier: Apache-2.0
// Describes views as index maps, so that kernels read through transposes, broadcasts and slices.
#include "graph/dispatch/views.h"

namespace millrace {
namespace {

const OpNode* as_op(const Node& node) { return std::get_if<OpNode>(&node.what); }

AffineIndex zero_like(const AffineIndex& index) {
  return {0, std::vector<SizeExpr>(index.coefficients.size(), SizeExpr(0))};
}

AffineIndex scaled(AffineIndex index, const SizeExpr& factor, const SizeExpr& offset) {
  index.offset = index.offset * factor + offset;
  for (SizeExpr& coefficient : index.coefficients) coefficient = coefficient * factor;
  return index;
}

std::size_t normal_axis(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

}  // namespace

bool is_index_view(const Node& node) {
  const OpNode* op = as_op(node);
  return op && has_trait(op->op, kIndexView);
}

bool is_storage_view(const Node& node) {
  const OpNode* op = as_op(node);
  return op && has_trait(op->op, kStorageView);
}

std::vector<AffineIndex> look_through(const Graph& graph, const Node& view, const std::vector<AffineIndex>& indices) {
  const Shape& operand = graph.type(view.operands[0]).shape;
  const Attributes& attributes = as_op(view)->attributes;
  std::vector<AffineIndex> result(operand.rank());
  if (const auto* transpose = std::get_if<PermutationAttrs>(&attributes)) {
    for (std::size_t d = 0; d < operand.rank(); ++d) {
      result[normal_axis(transpose->permutation[d], operand.rank())] = indices[d];
    }
  } else if (const auto* broadcast = std::get_if<BroadcastAttrs>(&attributes)) {
    const Shape& shape = view.results[0].shape;
    for (std::size_t d = 0; d < operand.rank(); ++d) {
      const std::size_t to = normal_axis(broadcast->dims[d], shape.rank());
      result[d] = operand[d].is(1) && !shape[to].is(1) ? zero_like(indices[to]) : indices[to];
    }
  } else {
    const auto& slice = std::get<SliceAttrs>(attributes);
    for (std::size_t d = 0; d < operand.rank(); ++d) result[d] = scaled(indices[d], slice.step[d], slice.start[d]);
  }
  return result;
}

const IotaAttrs* iota_attributes(const Node& node) {
  const auto* op = std::get_if<OpNode>(&node.what);
  return op != nullptr ? std::get_if<IotaAttrs>(&op->attributes) : nullptr;
}

}  // namespace millrace
