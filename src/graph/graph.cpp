// SPDX-License-Identifier: Apache-2.0
// Finds what passes and lowering need to know about a graph: names, bodies, live nodes, used results, symbols.
#include "millrace/graph/graph.h"

#include "base/guard_allocations.h"
#include "graph/infer.h"
#include "millrace/base/printable.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {

bool is_source(const Node& node) {
  return std::holds_alternative<InputNode>(node.what) || std::holds_alternative<ConstantNode>(node.what) ||
         std::holds_alternative<VariableNode>(node.what);
}

const std::string* source_name(const Node& node) {
  if (const auto* input = std::get_if<InputNode>(&node.what)) return &input->name;
  const auto* variable = std::get_if<VariableNode>(&node.what);
  return variable != nullptr ? &variable->name : nullptr;
}

std::string value_name(const Graph& graph, Value value) {
  const Node& node = graph.nodes[value.node];
  if (const std::string* name = source_name(node)) return *name;
  const bool is_named = value.result < node.names.size() && !node.names[value.result].empty();
  return is_named ? graph.scopes.prefix(node.scope) + node.names[value.result] : std::string();
}

std::set<std::string> value_names(const Graph& graph) {
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    for (std::uint32_t result = 0; result < graph.nodes[NodeId{i}].results.size(); ++result) {
      std::string name = value_name(graph, {NodeId{i}, result});
      if (!name.empty()) names.insert(std::move(name));
    }
  }
  return names;
}

void strip_names(Graph& graph) {
  graph.scopes = {};
  for (Node& node : graph.nodes) {
    node.names.clear();
    node.scope.reset();
    node.origin.reset();
    for (std::shared_ptr<const Graph>* body : bodies_of(node)) {
      auto stripped = std::make_shared<Graph>(**body);
      strip_names(*stripped);
      *body = std::move(stripped);
    }
  }
}

std::vector<const Graph*> bodies_of(const Node& node) {
  if (const auto* loop = std::get_if<LoopNode>(&node.what)) return {loop->body.get()};
  const auto* cond = std::get_if<CondNode>(&node.what);
  return cond != nullptr ? std::vector<const Graph*>{cond->if_true.get(), cond->if_false.get()}
                         : std::vector<const Graph*>();
}

std::vector<std::shared_ptr<const Graph>*> bodies_of(Node& node) {
  if (auto* loop = std::get_if<LoopNode>(&node.what)) return {&loop->body};
  auto* cond = std::get_if<CondNode>(&node.what);
  return cond != nullptr ? std::vector{&cond->if_true, &cond->if_false} : std::vector<std::shared_ptr<const Graph>*>();
}

std::vector<Value> required_values(const Graph& graph) {
  std::vector<Value> values;
  for (const GraphOutput& output : graph.outputs) values.push_back(output.value);
  for (const GraphUpdate& update : graph.updates) values.push_back(update.value);
  return values;
}

std::vector<NodeId> variables_of(const Graph& graph) {
  std::vector<NodeId> variables;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (std::holds_alternative<VariableNode>(graph.nodes[NodeId{i}].what)) variables.push_back(NodeId{i});
  }
  return variables;
}

IdVector<NodeId, std::uint32_t> used_results(const Graph& graph) {
  IdVector<NodeId, std::uint32_t> used;
  used.resize(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    for (const Value& operand : node.operands) used[operand.node] |= 1u << operand.result;
  }
  for (const Value& value : required_values(graph)) used[value.node] |= 1u << value.result;
  return used;
}

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes.size());
  for (const Value& value : required_values(graph)) live[index_of(value.node)] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[NodeId(i)];
    if (source_name(node) != nullptr) live[i] = true;
    if (!live[i]) continue;
    for (const Value& operand : node.operands) live[index_of(operand.node)] = true;
  }
  return live;
}

Result<std::map<std::string, Dim>> collect_symbols(const Graph& graph) {
  return guard_allocations([&]() -> Result<std::map<std::string, Dim>> {
    std::map<std::string, Dim> symbols;
    for (const Node& node : graph.nodes) {
      for (const SizeExpr& size : sizes_of(node)) MILLRACE_TRY(size.collect_symbols(symbols));
    }
    return symbols;
  });
}

std::string kind_name(const Node& node) {
  struct Visitor {
    std::string operator()(const InputNode&) const { return "input"; }
    std::string operator()(const ConstantNode& constant) const { return constant.prepared ? "prepared" : "constant"; }
    std::string operator()(const VariableNode&) const { return "variable"; }
    std::string operator()(const LoopNode&) const { return "while"; }
    std::string operator()(const CondNode&) const { return "if"; }
    std::string operator()(const OpNode& op) const { return is_known(op.op) ? std::string(to_text(op.op)) : "op"; }
    std::string operator()(const NestNode& own) const { return "kernel " + printable(own.nest->name); }
    std::string operator()(const KernelNode& kernel) const { return "kernel " + printable(kernel.kernel.name); }
  };
  return std::visit(Visitor{}, node.what);
}

}  // namespace millrace
