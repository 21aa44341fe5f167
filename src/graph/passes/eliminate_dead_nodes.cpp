// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/rewriter.h"
#include "millrace/graph/passes.h"

namespace millrace {

Status eliminate_dead_nodes(Graph& graph) {
  std::vector<bool> live(graph.nodes.size(), false);
  for (const GraphOutput& output : graph.outputs) live[index_of(output.value.node)] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[NodeId(i)];
    if (std::holds_alternative<InputNode>(node.what)) live[i] = true;
    if (!live[i]) continue;
    for (const Value& operand : node.operands) live[index_of(operand.node)] = true;
  }
  GraphRewriter rewriter(graph);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (live[i]) rewriter.copy(NodeId{i});
  }
  graph = rewriter.finish();
  return {};
}

}  // namespace millrace
