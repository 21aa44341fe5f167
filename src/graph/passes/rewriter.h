// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/graph/graph.h"

namespace millrace {

/// Rebuilds a graph node by node. The pass visits each old node, whose operands already have new values, and decides
/// what replaces the node's results. Old nodes that the pass does not copy are dropped.
class GraphRewriter {
 public:
  explicit GraphRewriter(const Graph& old) : old_(old) {
    new_.name = old.name;
    new_.is_body = old.is_body;
    new_.scopes = old.scopes;
    values_.resize(old.nodes.size());
  }

  const Graph& graph() const { return new_; }
  /// The new value for an old value that was kept or replaced.
  Value map(Value value) const { return values_[value.node][value.result]; }
  /// Node `id` with its operands mapped.
  Node mapped(NodeId id) const {
    Node node = old_.nodes[id];
    for (Value& operand : node.operands) operand = map(operand);
    return node;
  }
  /// The new graph's scopes: the old graph's, and any that the pass adds.
  ScopeTable& scopes() { return new_.scopes; }
  /// Appends the node without names. When it replaces an old node, it gets the old node's names and, if it has no
  /// scope, the old node's scope.
  NodeId append(Node node) {
    node.names.clear();
    return new_.nodes.push_back(std::move(node));
  }
  /// Replaces the results of old node `id` with the results of new node `as`.
  void keep(NodeId id, NodeId as) {
    for (std::uint32_t i = 0; i < old_.nodes[id].results.size(); ++i) values_[id].push_back({as, i});
    hand_names(id, as);
  }
  void copy(NodeId id) { keep(id, append(mapped(id))); }
  /// Replaces one result of old node `id` with the value, and gives the value that result's name. Precondition: keep()
  /// was called for the node.
  void replace_result(NodeId id, std::uint32_t result, Value value) {
    give_scope(old_.nodes[id]);
    const Value kept = std::exchange(values_[id][result], value);
    std::vector<std::string>& names = new_.nodes[kept.node].names;
    Node& node = new_.nodes[value.node];
    if (kept.result >= names.size() || !node.names.empty() || source_name(node) != nullptr) return;
    node.names.resize(node.results.size());
    std::swap(node.names[value.result], names[kept.result]);
    node.scope = new_.nodes[kept.node].scope;
  }
  /// Replaces old node `id`, which has one result, with the value.
  void replace(NodeId id, Value value) {
    values_[id] = {value};
    hand_names(id, value.node);
  }

  Graph finish() {
    for (const NodeId input : old_.inputs) new_.inputs.push_back(map({input, 0}).node);
    for (const GraphOutput& output : old_.outputs) new_.outputs.push_back({output.name, map(output.value)});
    for (const GraphUpdate& update : old_.updates) {
      new_.updates.push_back({map({update.variable, 0}).node, map(update.value)});
    }
    return std::move(new_);
  }

 private:
  void hand_names(NodeId from, NodeId to) {
    const Node& old = old_.nodes[from];
    give_scope(old);
    Node& node = new_.nodes[to];
    const bool has_own_name = source_name(node) != nullptr || !node.names.empty();
    if (has_own_name || old.names.empty() || old.names.size() != node.results.size()) return;
    node.names = old.names;
    node.scope = old.scope;  // a name is unique within its scope
  }

  /// Gives the nodes that were appended for an old node its scope and its origin.
  void give_scope(const Node& old) {
    for (; num_with_scope_ < new_.nodes.size(); ++num_with_scope_) {
      Node& node = new_.nodes[NodeId(num_with_scope_)];
      if (!node.scope && source_name(node) == nullptr) node.scope = old.scope;
      if (node.origin == nullptr) node.origin = old.origin;
    }
  }

  const Graph& old_;
  Graph new_;
  std::size_t num_with_scope_ = 0;
  IdVector<NodeId, std::vector<Value>> values_;
};

}  // namespace millrace
