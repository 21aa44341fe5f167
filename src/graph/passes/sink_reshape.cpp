// SPDX-License-Identifier: Apache-2.0
// Moves a reshape from the operands of an elementwise node to its result; simplify_algebra calls it.
#include "graph/passes/sink_reshape.h"

#include <algorithm>
#include <array>

#include "base/guard_allocations.h"
#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

const OpNode* op_at(const Graph& graph, NodeId id, Op op) {
  const auto* node = std::get_if<OpNode>(&graph.nodes[id].what);
  return node != nullptr && node->op == op ? node : nullptr;
}

/// Whether the kernel of a node can compute elementwise nodes that follow it.
bool can_take_more(const Node& node) {
  constexpr OpTraits kTraits[] = {kElementwise, kIndexView, kFusibleEpilogue};
  const auto* op = std::get_if<OpNode>(&node.what);
  return op != nullptr && std::ranges::any_of(kTraits, [&](OpTraits trait) { return has_trait(op->op, trait); });
}

/// The operand of the first reshape among the node's operands whose own kernel can take the node.
std::optional<Value> find_reshaped(const Graph& graph, const Node& node) {
  for (const Value& operand : node.operands) {
    if (op_at(graph, operand.node, Op::reshape) == nullptr) continue;
    const Value inner = graph.nodes[operand.node].operands[0];
    if (can_take_more(graph.nodes[inner.node])) return inner;
  }
  return std::nullopt;
}

/// A node that gives the operand in another shape at no cost; nothing if none does, or if none is needed.
std::optional<Node> free_reshape(const Graph& graph, Value operand, const Shape& shape) {
  const Node& producer = graph.nodes[operand.node];
  const TensorType type{graph.type(operand).dtype, shape};
  if (op_at(graph, operand.node, Op::broadcast) && graph.type(producer.operands[0]).shape.rank() == 0) {
    return Node{OpNode{Op::broadcast, BroadcastAttrs{shape.dims(), {}}}, producer.operands, {type}};
  }
  if (!std::holds_alternative<InputNode>(producer.what) && !std::holds_alternative<ConstantNode>(producer.what)) {
    return std::nullopt;
  }
  const Attributes attributes = ShapeAttrs{shape.dims()};
  const bool has_equal_size =
      unguarded(infer_types(Op::reshape, std::array{graph.type(operand)}, attributes)).status().ok();
  if (!has_equal_size) return std::nullopt;
  return Node{OpNode{Op::reshape, attributes}, {operand}, {type}};
}

}  // namespace

std::optional<Value> sink_reshape(GraphRewriter& rewriter, Value value) {
  const Graph& graph = rewriter.graph();
  Node node = graph.nodes[value.node];
  const auto* op = std::get_if<OpNode>(&node.what);
  if (op == nullptr || !has_trait(op->op, kElementwise) || node.results.size() != 1) return std::nullopt;
  const std::optional<Value> inner = find_reshaped(graph, node);
  if (!inner) return std::nullopt;
  const Shape shape = graph.type(*inner).shape;
  std::vector<Value> operands;
  std::vector<std::pair<std::size_t, Node>> added;  // the operand that a node gives
  for (const Value& operand : node.operands) {
    const Node& producer = graph.nodes[operand.node];
    if (op_at(graph, operand.node, Op::reshape) && graph.type(producer.operands[0]).shape == shape) {
      operands.push_back(producer.operands[0]);
      continue;
    }
    std::optional<Node> reshaped = free_reshape(graph, operand, shape);
    if (!reshaped) return std::nullopt;
    added.emplace_back(operands.size(), *std::move(reshaped));
    operands.push_back(operand);
  }
  for (auto& [number, extra] : added) operands[number] = {rewriter.append(std::move(extra)), 0};
  const TensorType type = node.results[0];
  node.operands = std::move(operands);
  node.results[0].shape = shape;
  const NodeId computed = rewriter.append(std::move(node));
  return Value{rewriter.append({OpNode{Op::reshape, ShapeAttrs{type.shape.dims()}}, {{computed, 0}}, {type}}), 0};
}

}  // namespace millrace
