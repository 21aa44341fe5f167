// SPDX-License-Identifier: Apache-2.0
// A graph as text, one node a line. Results of node 7 are %7, or %7.0, %7.1 where there are several.
#include "graph/text.h"

#include <fmt/format.h>

#include "millrace/jit/scalar.h"

namespace millrace {

std::string value_text(const Graph& graph, Value value) {
  const std::size_t results = graph.nodes[value.node].results.size();
  return results == 1 ? fmt::format("%{}", index_of(value.node))
                      : fmt::format("%{}.{}", index_of(value.node), value.result);
}

namespace {

/// Up to eight elements; more are counted.
std::string constant_text(const TensorType& type, const std::vector<std::byte>& data) {
  constexpr std::size_t kShown = 8;
  const std::size_t element = size_bytes(type.dtype);
  const std::size_t count = data.size() / element;
  std::string text;
  for (std::size_t i = 0; i < count && i < kShown; ++i) {
    visit_dtype(type.dtype, [&]<class T>() {
      T host;
      std::memcpy(&host, data.data() + i * element, element);
      text += i == 0 ? "" : ", ";
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        text += fmt::format("{}", static_cast<float>(host));
      } else {
        text += fmt::format("{}", host);
      }
    });
  }
  if (count > kShown) text += fmt::format(", ... {} more", count - kShown);
  return text;
}

std::string node_text(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  std::string results, types, operands;
  for (std::uint32_t i = 0; i < node.results.size(); ++i) {
    results += (i == 0 ? "" : ", ") + value_text(graph, {id, i});
    types += (i == 0 ? "" : ", ") + node.results[i].to_text();
  }
  for (const Value& operand : node.operands) operands += (operands.empty() ? "" : ", ") + value_text(graph, operand);
  std::string attributes;
  if (const auto* op = std::get_if<OpNode>(&node.what)) attributes = to_text(op->attributes);
  if (const auto* input = std::get_if<InputNode>(&node.what)) operands = input->name;
  if (const auto* constant = std::get_if<ConstantNode>(&node.what)) {
    operands = constant_text(node.results[0], *constant->data);
  }
  return fmt::format("  {} = {}({}){}{} : {}\n", results, kind_name(node), operands, attributes.empty() ? "" : " ",
                     attributes, types);
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string text = fmt::format("graph {} {{\n", graph.name);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) text += node_text(graph, NodeId{i});
  text += "  return";
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    text +=
        fmt::format("{} {} = {}", i == 0 ? "" : ",", graph.outputs[i].name, value_text(graph, graph.outputs[i].value));
  }
  return text + "\n}\n";
}

}  // namespace millrace
