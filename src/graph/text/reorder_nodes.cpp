// SPDX-License-Identifier: Apache-2.0
// Puts the nodes of a parsed graph into the order of the text.
#include "graph/text/reorder_nodes.h"

namespace millrace {

Graph reorder_nodes(Graph graph, const std::vector<NodeId>& order) {
  IdVector<NodeId, NodeId> moved;
  moved.resize(graph.nodes.size());
  const auto kLeftOut = NodeId(graph.nodes.size());
  for (NodeId& id : moved) id = kLeftOut;
  auto next = static_cast<std::uint32_t>(graph.nodes.size() - order.size());
  for (const NodeId id : order) moved[id] = NodeId{next++};
  next = 0;
  for (NodeId& id : moved) id = id == kLeftOut ? NodeId{next++} : id;
  IdVector<NodeId, Node> nodes;
  nodes.resize(graph.nodes.size());
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = nodes[moved[NodeId{i}]] = std::move(graph.nodes[NodeId{i}]);
    for (Value& operand : node.operands) operand.node = moved[operand.node];
  }
  graph.nodes = std::move(nodes);
  for (NodeId& input : graph.inputs) input = moved[input];
  for (GraphOutput& output : graph.outputs) output.value.node = moved[output.value.node];
  for (auto& [variable, value] : graph.updates) {
    variable = moved[variable];
    value.node = moved[value.node];
  }
  return graph;
}

}  // namespace millrace
