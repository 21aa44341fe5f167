// SPDX-License-Identifier: Apache-2.0
// Rules that depend on attributes; simplify_algebra applies them. They drop views and casts without effect, join two
// views into one, and turn the argmax of a negation into an argmin.
#include "graph/passes/node_rules.h"

#include "base/guard_allocations.h"
#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

using Rewrite = std::optional<NodeRewrite>;

Rewrite use(Value value) { return NodeRewrite{value, std::nullopt}; }
Rewrite use(Node node) { return NodeRewrite{std::nullopt, std::move(node)}; }

const OpNode* op_at(const Graph& graph, NodeId id, Op op) {
  const auto* node = std::get_if<OpNode>(&graph.nodes[id].what);
  return node && node->op == op ? node : nullptr;
}

std::size_t normal(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

bool is_same_type(const Graph& graph, NodeId id) {
  return graph.nodes[id].results[0] == graph.type(graph.nodes[id].operands[0]);
}

// Turn this: cast x : f32 {dtype = f32}      Into this: x
// The same holds for bit_cast.
Rewrite drop_cast(const Graph& graph, NodeId id) {
  const bool is_cast = op_at(graph, id, Op::cast) || op_at(graph, id, Op::bit_cast);
  if (!is_cast || !is_same_type(graph, id)) return std::nullopt;
  return use(graph.nodes[id].operands[0]);
}

// Turn this: reshape x to its own shape      Into this: x
Rewrite drop_reshape(const Graph& graph, NodeId id) {
  if (!op_at(graph, id, Op::reshape) || !is_same_type(graph, id)) return std::nullopt;
  return use(graph.nodes[id].operands[0]);
}

// Turn this: reshape (reshape x)             Into this: reshape x
Rewrite join_reshapes(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (!op_at(graph, id, Op::reshape) || !op_at(graph, node.operands[0].node, Op::reshape)) return std::nullopt;
  Node joined = node;
  joined.operands = graph.nodes[node.operands[0].node].operands;
  // Without the inner reshape, it may be impossible to prove that the numbers of elements are equal.
  if (!unguarded(infer_types(Op::reshape, std::array{graph.type(joined.operands[0])},
                             op_at(graph, id, Op::reshape)->attributes))
           .ok()) {
    return std::nullopt;
  }
  return use(std::move(joined));
}

// Turn this: transpose x {0, 1, 2}           Into this: x
Rewrite drop_transpose(const Graph& graph, NodeId id) {
  const OpNode* op = op_at(graph, id, Op::transpose);
  if (!op) return std::nullopt;
  const auto& permutation = std::get<PermutationAttrs>(op->attributes).permutation;
  for (std::size_t d = 0; d < permutation.size(); ++d) {
    if (normal(permutation[d], permutation.size()) != d) return std::nullopt;
  }
  return use(graph.nodes[id].operands[0]);
}

// Turn this: transpose (transpose x {p}) {q} Into this: transpose x {p[q]}
Rewrite join_transposes(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  const OpNode* outer = op_at(graph, id, Op::transpose);
  const OpNode* inner = outer ? op_at(graph, node.operands[0].node, Op::transpose) : nullptr;
  if (!inner) return std::nullopt;
  const auto& p = std::get<PermutationAttrs>(inner->attributes).permutation;
  PermutationAttrs joined = std::get<PermutationAttrs>(outer->attributes);
  for (std::int64_t& axis : joined.permutation) {
    axis = static_cast<std::int64_t>(normal(p[normal(axis, p.size())], p.size()));
  }
  Node result = node;
  result.what = OpNode{Op::transpose, std::move(joined)};
  result.operands = graph.nodes[node.operands[0].node].operands;
  return use(std::move(result));
}

// Turn this: broadcast x to its own shape    Into this: x
Rewrite drop_broadcast(const Graph& graph, NodeId id) {
  if (!op_at(graph, id, Op::broadcast) || !is_same_type(graph, id)) return std::nullopt;
  return use(graph.nodes[id].operands[0]);
}

// Turn this: broadcast (broadcast x {p}) {q} Into this: broadcast x {q[p]}
Rewrite join_broadcasts(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  const OpNode* outer = op_at(graph, id, Op::broadcast);
  const OpNode* inner = outer ? op_at(graph, node.operands[0].node, Op::broadcast) : nullptr;
  if (!inner) return std::nullopt;
  const std::size_t middle_rank = graph.type(node.operands[0]).shape.rank();
  const std::size_t rank = node.results[0].shape.rank();
  const auto& outer_attributes = std::get<BroadcastAttrs>(outer->attributes);
  BroadcastAttrs joined{outer_attributes.shape, {}};
  for (std::int64_t dim : std::get<BroadcastAttrs>(inner->attributes).dims) {
    joined.dims.push_back(static_cast<std::int64_t>(normal(outer_attributes.dims[normal(dim, middle_rank)], rank)));
  }
  Node result = node;
  result.what = OpNode{Op::broadcast, std::move(joined)};
  result.operands = graph.nodes[node.operands[0].node].operands;
  return use(std::move(result));
}

// Turn this: slice x of all of x             Into this: x
Rewrite drop_slice(const Graph& graph, NodeId id) {
  const OpNode* op = op_at(graph, id, Op::slice);
  if (!op || !is_same_type(graph, id)) return std::nullopt;
  const auto& slice = std::get<SliceAttrs>(op->attributes);
  for (std::size_t d = 0; d < slice.start.size(); ++d) {
    if (!slice.start[d].is(0) || slice.step[d] != 1) return std::nullopt;
  }
  return use(graph.nodes[id].operands[0]);
}

// Turn this: pad x by nothing                Into this: x
Rewrite drop_pad(const Graph& graph, NodeId id) {
  const OpNode* op = op_at(graph, id, Op::pad);
  if (!op) return std::nullopt;
  const auto& pad = std::get<PadAttrs>(op->attributes);
  for (std::size_t d = 0; d < pad.low.size(); ++d) {
    if (!pad.low[d].is(0) || !pad.high[d].is(0)) return std::nullopt;
  }
  return use(graph.nodes[id].operands[0]);
}

// Turn this: concat x                        Into this: x
Rewrite drop_concat(const Graph& graph, NodeId id) {
  if (!op_at(graph, id, Op::concat) || graph.nodes[id].operands.size() != 1) return std::nullopt;
  return use(graph.nodes[id].operands[0]);
}

// Turn this: argmax (neg x)                  Into this: argmin x
// And the other way around. Floats only: both ops prefer a NaN, and negation reverses the order of all other floats.
// Among integers, the lowest one is its own negation.
Rewrite drop_negation(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  const OpNode* maximum = op_at(graph, id, Op::argmax);
  const OpNode* arg = maximum ? maximum : op_at(graph, id, Op::argmin);
  if (!arg || !op_at(graph, node.operands[0].node, Op::neg) || !is_float(graph.type(node.operands[0]).dtype)) {
    return std::nullopt;
  }
  Node turned = node;
  turned.what = OpNode{maximum ? Op::argmin : Op::argmax, arg->attributes};
  turned.operands = graph.nodes[node.operands[0].node].operands;
  return use(std::move(turned));
}

constexpr NodeRule kNodeRules[] = {
    {"drop_cast", drop_cast},
    {"drop_reshape", drop_reshape},
    {"join_reshapes", join_reshapes},
    {"drop_transpose", drop_transpose},
    {"join_transposes", join_transposes},
    {"drop_broadcast", drop_broadcast},
    {"join_broadcasts", join_broadcasts},
    {"drop_slice", drop_slice},
    {"drop_pad", drop_pad},
    {"drop_concat", drop_concat},
    {"drop_negation", drop_negation},
};

}  // namespace

std::span<const NodeRule> node_rules() { return kNodeRules; }

}  // namespace millrace
