// SPDX-License-Identifier: Apache-2.0
#include "tools/millrace/graph_dot.h"

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace::tool {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return result + "\"";
}

std::string label(const Node& node) {
  const auto* input = std::get_if<InputNode>(&node.what);
  if (input != nullptr) return printable(input->name);
  const auto* op = std::get_if<OpNode>(&node.what);
  const std::string attributes = op != nullptr ? to_text(op->attributes) : "";
  return kind_name(node) + (attributes.empty() ? "" : "\n" + attributes);
}

std::string_view shape_of(const Node& node) {
  if (std::holds_alternative<InputNode>(node.what)) return "ellipse";
  return std::holds_alternative<ConstantNode>(node.what) ? "note" : "box";
}

std::string arrow(const Graph& graph, Value from, const std::string& to) {
  return fmt::format("  n{} -> {} [label={}];\n", index_of(from.node), to, quoted(graph.type(from).to_text()));
}

}  // namespace

std::string graph_dot(const Graph& graph) {
  std::string text = fmt::format("digraph {} {{\n", quoted(printable(graph.name)));
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[NodeId{i}];
    text += fmt::format("  n{} [label={}, shape={}];\n", i, quoted(label(node)), shape_of(node));
    for (const Value& operand : node.operands) text += arrow(graph, operand, fmt::format("n{}", i));
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    text += fmt::format("  out{} [label={}, shape=ellipse];\n", i, quoted(printable(graph.outputs[i].name)));
    text += arrow(graph, graph.outputs[i].value, fmt::format("out{}", i));
  }
  return text + "}\n";
}

}  // namespace millrace::tool
