// SPDX-License-Identifier: Apache-2.0
#include "millrace/graph/graph.h"

#include "base/guard_allocations.h"
#include "graph/infer.h"
#include "millrace/base/printable.h"

namespace millrace {

IdVector<NodeId, std::uint32_t> used_results(const Graph& graph) {
  IdVector<NodeId, std::uint32_t> used;
  used.resize(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    for (const Value& operand : node.operands) used[operand.node] |= 1u << operand.result;
  }
  for (const GraphOutput& output : graph.outputs) used[output.value.node] |= 1u << output.value.result;
  return used;
}

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes.size());
  for (const GraphOutput& output : graph.outputs) live[index_of(output.value.node)] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[NodeId(i)];
    if (std::holds_alternative<InputNode>(node.what)) live[i] = true;
    if (!live[i]) continue;
    for (const Value& operand : node.operands) live[index_of(operand.node)] = true;
  }
  return live;
}

Result<std::map<std::string, Dim>> collect_symbols(const Graph& graph) try {
  const InsideGuard inside;
  std::map<std::string, Dim> symbols;
  for (const Node& node : graph.nodes) {
    for (const SizeExpr& size : sizes_of(node)) MILLRACE_TRY(size.collect_symbols(symbols));
  }
  return symbols;
} catch (const std::bad_alloc&) {
  return out_of_memory_outside_guards("graph");
}

std::string kind_name(const Node& node) {
  struct Visitor {
    std::string operator()(const InputNode&) const { return "input"; }
    std::string operator()(const ConstantNode&) const { return "constant"; }
    std::string operator()(const OpNode& op) const { return is_known(op.op) ? std::string(to_text(op.op)) : "op"; }
    std::string operator()(const KernelNode& kernel) const { return "kernel " + printable(kernel.kernel.name); }
  };
  return std::visit(Visitor{}, node.what);
}

}  // namespace millrace
