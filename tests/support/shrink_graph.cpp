// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "tests/support/random_graph.h"

namespace millrace::test {
namespace {

/// Nodes that no output needs are gone, inputs too.
Graph without_dead(Graph graph) {
  std::vector<bool> needed(graph.nodes.size(), false);
  for (const GraphOutput& output : graph.outputs) needed[index_of(output.value.node)] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const Value& operand : graph.nodes[NodeId(i)].operands) needed[index_of(operand.node)] = true;
  }
  Graph kept;
  kept.name = graph.name;
  std::vector<NodeId> renumbered(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!needed[i]) continue;
    Node node = std::move(graph.nodes[NodeId(i)]);
    for (Value& operand : node.operands) operand.node = renumbered[index_of(operand.node)];
    renumbered[i] = kept.nodes.push_back(std::move(node));
  }
  for (const NodeId id : graph.inputs) {
    if (needed[index_of(id)]) kept.inputs.push_back(renumbered[index_of(id)]);
  }
  for (const GraphOutput& output : graph.outputs) {
    kept.outputs.push_back({output.name, {renumbered[index_of(output.value.node)], output.value.result}});
  }
  return kept;
}

/// The node's one result comes from outside.
std::optional<Graph> cut_off(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  const bool is_op = std::holds_alternative<OpNode>(node.what) || std::holds_alternative<KernelNode>(node.what);
  if (!is_op || node.results.size() != 1) return std::nullopt;
  Graph cut = graph;
  cut.nodes[id].what = InputNode{"cut" + std::to_string(index_of(id))};
  cut.nodes[id].operands.clear();
  cut.inputs.push_back(id);
  return without_dead(std::move(cut));
}

/// The graph ends at an operand of its one output.
std::vector<Graph> end_earlier(const Graph& graph) {
  std::vector<Graph> shorter;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    for (const Value& operand : graph.nodes[graph.outputs[i].value.node].operands) {
      Graph earlier = graph;
      earlier.outputs[i].value = operand;
      shorter.push_back(without_dead(std::move(earlier)));
    }
  }
  return shorter;
}

std::vector<Graph> smaller(const Graph& graph) {
  std::vector<Graph> candidates;
  for (std::size_t i = 0; graph.outputs.size() > 1 && i < graph.outputs.size(); ++i) {
    Graph fewer = graph;
    fewer.outputs.erase(fewer.outputs.begin() + static_cast<std::ptrdiff_t>(i));
    candidates.push_back(without_dead(std::move(fewer)));
  }
  for (Graph& shorter : end_earlier(graph)) candidates.push_back(std::move(shorter));
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (std::optional<Graph> cut = cut_off(graph, NodeId(i))) candidates.push_back(*std::move(cut));
  }
  return candidates;
}

}  // namespace

Graph shrink_graph(Graph graph, const std::function<bool(const Graph&)>& fails) {
  for (bool is_smaller = true; is_smaller;) {
    is_smaller = false;
    for (Graph& candidate : smaller(graph)) {
      // Cutting off an op of no operands leaves as many nodes: only what gets smaller counts, so that this ends.
      const auto ops = [](const Graph& g) {
        return std::ranges::count_if(g.nodes,
                                     [](const Node& node) { return std::holds_alternative<OpNode>(node.what); });
      };
      const bool is_less = ops(candidate) + static_cast<std::ptrdiff_t>(candidate.outputs.size()) <
                           ops(graph) + static_cast<std::ptrdiff_t>(graph.outputs.size());
      if (!is_less || !verify(candidate).ok() || !fails(candidate)) continue;
      graph = std::move(candidate);
      is_smaller = true;
      break;
    }
  }
  return graph;
}

}  // namespace millrace::test
