// SPDX-License-Identifier: Apache-2.0
#include "tests/support/graphs/shrink_graph.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace millrace::test {
namespace {

/// Without values that no output needs, including inputs; the inputs come first, as in text.
Graph without_dead(const Graph& graph) {
  std::vector<bool> needed(graph.nodes.size(), false);
  for (const GraphOutput& output : graph.outputs) needed[index_of(output.value.node)] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const Value& operand : graph.nodes[NodeId(i)].operands) needed[index_of(operand.node)] = true;
  }
  Graph kept;
  kept.name = graph.name;
  kept.scopes = graph.scopes;
  std::vector<NodeId> renumbered(graph.nodes.size());
  for (const NodeId id : graph.inputs) {
    if (!needed[index_of(id)]) continue;
    renumbered[index_of(id)] = kept.nodes.push_back(graph.nodes[id]);
    kept.inputs.push_back(renumbered[index_of(id)]);
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node node = graph.nodes[NodeId(i)];
    if (!needed[i] || std::holds_alternative<InputNode>(node.what)) continue;
    for (Value& operand : node.operands) operand.node = renumbered[index_of(operand.node)];
    renumbered[i] = kept.nodes.push_back(std::move(node));
  }
  for (const GraphOutput& output : graph.outputs) {
    kept.outputs.push_back({output.name, {renumbered[index_of(output.value.node)], output.value.result}});
  }
  return kept;
}

bool is_op(const Node& node) {
  return std::holds_alternative<OpNode>(node.what) || std::holds_alternative<KernelNode>(node.what);
}

void replace_value(Graph& graph, Value from, Value to) {
  for (Node& node : graph.nodes) std::ranges::replace(node.operands, from, to);
  for (GraphOutput& output : graph.outputs) {
    if (output.value == from) output.value = to;
  }
}

/// "cut0", or the first such name that is free.
std::string free_input_name(const Graph& graph) {
  std::set<std::string> taken;
  for (const NodeId id : graph.inputs) taken.insert(std::get<InputNode>(graph.nodes[id].what).name);
  std::size_t number = 0;
  while (taken.contains("cut" + std::to_string(number))) ++number;
  return "cut" + std::to_string(number);
}

/// With one more input: the first node, so that any may read it, and the last argument.
Graph with_input(Graph graph, const TensorType& type) {
  const std::string name = free_input_name(graph);
  Graph more;
  more.name = graph.name;
  more.scopes = graph.scopes;
  more.nodes.push_back({InputNode{name}, {}, {type}});
  const auto shift = [](NodeId& id) { id = NodeId(index_of(id) + 1); };
  for (Node& node : graph.nodes) {
    for (Value& operand : node.operands) shift(operand.node);
    more.nodes.push_back(std::move(node));
  }
  for (NodeId& id : graph.inputs) shift(id);
  for (GraphOutput& output : graph.outputs) shift(output.value.node);
  more.inputs = std::move(graph.inputs);
  more.inputs.push_back(NodeId(0));
  more.outputs = std::move(graph.outputs);
  return more;
}

std::vector<Graph> drop_outputs(const Graph& graph) {
  std::vector<Graph> smaller;
  for (std::size_t i = 0; graph.outputs.size() > 1 && i < graph.outputs.size(); ++i) {
    smaller.push_back(graph);
    smaller.back().outputs.erase(smaller.back().outputs.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return smaller;
}

/// At one of the operands of an output, or at all of them.
std::vector<Graph> end_earlier(const Graph& graph) {
  std::vector<Graph> smaller;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    Graph at_all = graph;
    at_all.outputs.erase(at_all.outputs.begin() + static_cast<std::ptrdiff_t>(i));
    const std::vector<Value>& operands = graph.nodes[graph.outputs[i].value.node].operands;
    for (const Value& operand : operands) {
      smaller.push_back(graph);
      smaller.back().outputs[i].value = operand;
      const std::string name = graph.outputs[i].name + "_" + std::to_string(at_all.outputs.size());
      at_all.outputs.push_back({name, operand});
    }
    if (operands.size() > 1) smaller.push_back(std::move(at_all));
  }
  return smaller;
}

std::vector<Graph> cut_off(const Graph& graph) {
  std::vector<Graph> smaller;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[NodeId(i)];
    if (!is_op(node)) continue;
    Graph cut = graph;
    for (std::uint32_t result = 0; result < node.results.size(); ++result) {
      cut = with_input(std::move(cut), node.results[result]);
      replace_value(cut, {NodeId(i + result + 1), result}, {NodeId(0), 0});
    }
    smaller.push_back(std::move(cut));
  }
  return smaller;
}

std::vector<Graph> forget_ops(const Graph& graph) {
  std::vector<Graph> smaller;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[NodeId(i)];
    for (std::uint32_t result = 0; is_op(node) && result < node.results.size(); ++result) {
      for (const Value& operand : node.operands) {
        if (graph.type(operand) != node.results[result]) continue;
        smaller.push_back(graph);
        replace_value(smaller.back(), {NodeId(i), result}, operand);
      }
    }
  }
  return smaller;
}

/// Every op that nothing reads is an output.
Graph with_all_live(Graph graph) {
  std::vector<bool> read(graph.nodes.size(), false);
  for (const Node& node : graph.nodes) {
    for (const Value& operand : node.operands) read[index_of(operand.node)] = true;
  }
  for (const GraphOutput& output : graph.outputs) read[index_of(output.value.node)] = true;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (read[i] || !is_op(graph.nodes[NodeId(i)])) continue;
    graph.outputs.push_back({"dead" + std::to_string(i), {NodeId(i), 0}});
  }
  return graph;
}

/// What gets less with every step, so that steps end.
std::pair<std::ptrdiff_t, std::size_t> size_of(const Graph& graph) {
  return {std::ranges::count_if(graph.nodes, is_op), graph.outputs.size()};
}

}  // namespace

std::vector<Graph> smaller_graphs(const Graph& graph) {
  std::vector<Graph> smaller;
  for (const auto steps : {drop_outputs, end_earlier, cut_off, forget_ops}) {
    for (const Graph& step : steps(graph)) {
      Graph live = without_dead(step);
      if (size_of(live) < size_of(graph) && verify(live).ok()) smaller.push_back(std::move(live));
    }
  }
  return smaller;
}

Graph shrink_graph(Graph graph, const std::function<bool(const Graph&)>& fails) {
  // Steps keep only live nodes, but a dead one may cause the failure.
  if (Graph live = with_all_live(graph); fails(live)) graph = std::move(live);
  for (bool is_smaller = true; is_smaller;) {
    std::vector<Graph> smaller = smaller_graphs(graph);
    const auto failing = std::ranges::find_if(smaller, fails);
    is_smaller = failing != smaller.end();
    if (is_smaller) graph = std::move(*failing);
  }
  return graph;
}

}  // namespace millrace::test
