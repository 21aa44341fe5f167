// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/graph/graph.h"

namespace millrace {

/// Rebuilds a graph node by node: a pass looks at each old node, with its operands already new, and says what stands
/// for its results. Nodes that nothing copies are gone.
class GraphRewriter {
 public:
  explicit GraphRewriter(const Graph& old) : old_(old) {
    new_.name = old.name;
    values_.resize(old.nodes.size());
  }

  const Graph& graph() const { return new_; }
  /// The new value of an old one that has been copied or replaced.
  Value map(Value value) const { return values_[value.node][value.result]; }
  /// `node` with its operands mapped.
  Node mapped(NodeId id) const {
    Node node = old_.nodes[id];
    for (Value& operand : node.operands) operand = map(operand);
    return node;
  }
  /// Without names, which a value has once it stands for an old one.
  NodeId append(Node node) {
    node.names.clear();
    return new_.nodes.push_back(std::move(node));
  }
  /// Old node `id` is represented by the results of the new node.
  void keep(NodeId id, NodeId as) {
    for (std::uint32_t i = 0; i < old_.nodes[id].results.size(); ++i) values_[id].push_back({as, i});
    if (std::holds_alternative<InputNode>(old_.nodes[id].what)) new_.inputs.push_back(as);
    hand_names(id, as);
  }
  void copy(NodeId id) { keep(id, append(mapped(id))); }
  /// Old node `id`, of one result, is represented by the value.
  void replace(NodeId id, Value value) {
    values_[id] = {value};
    hand_names(id, value.node);
  }

  Graph finish() {
    for (const GraphOutput& output : old_.outputs) new_.outputs.push_back({output.name, map(output.value)});
    return std::move(new_);
  }

 private:
  void hand_names(NodeId from, NodeId to) {
    const std::vector<std::string>& names = old_.nodes[from].names;
    Node& node = new_.nodes[to];
    const bool is_input = std::holds_alternative<InputNode>(node.what);
    if (!is_input && node.names.empty() && names.size() == node.results.size()) node.names = names;
  }

  const Graph& old_;
  Graph new_;
  IdVector<NodeId, std::vector<Value>> values_;
};

}  // namespace millrace
