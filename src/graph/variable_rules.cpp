// SPDX-License-Identifier: Apache-2.0
// The rules for variables, loop states and updates, with a message for each broken rule.
#include "graph/variable_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/infer.h"
#include "millrace/graph/text.h"

namespace millrace {

std::string variable_problem(const TensorType& type, std::size_t initial_bytes) {
  const std::string broken = broken_limit(type);
  if (!broken.empty()) return "the type " + broken;
  if (!type.shape.is_static()) {
    return fmt::format(
        "the type is {}, expected dims that are numbers, as a session allocates it before a run; give the maximum",
        type.to_text());
  }
  const SizeExpr expected = size_bytes(type);
  const bool is_element = initial_bytes == size_bytes(type.dtype);
  if (is_element || expected.is(static_cast<std::int64_t>(initial_bytes))) return "";
  return fmt::format("begins with {} bytes, expected {} for {}, or the {} of one element; give every element once",
                     initial_bytes, expected.to_text(), type.to_text(), size_bytes(type.dtype));
}

std::string state_problem(const TensorType& type, std::size_t initial_bytes) {
  const std::string broken = broken_limit(type);
  if (!broken.empty()) return "the type " + broken;
  if (initial_bytes == 0) return "";
  return fmt::format("begins with {} bytes, expected none, as it is a loop's state; give the loop its first value",
                     initial_bytes);
}

std::string update_problem(const Graph& graph, const GraphUpdate& update, std::span<const GraphUpdate> before) {
  const auto& [variable, value] = update;
  if (!graph.nodes.contains(variable)) {
    return fmt::format("update of %{}, which the graph does not have; name a variable", index_of(variable));
  }
  const Node& node = graph.nodes[variable];
  if (!std::holds_alternative<VariableNode>(node.what)) {
    return fmt::format("update of {}, which is not a variable; name one", node_text(graph, variable));
  }
  const std::string who = "update of " + value_text(graph, {variable, 0});
  if (!graph.nodes.contains(value.node) || value.result >= graph.nodes[value.node].results.size()) {
    return fmt::format("{}: is result {} of %{}, which the graph does not have; name one that it has", who,
                       value.result, index_of(value.node));
  }
  if (std::ranges::find(before, variable, &GraphUpdate::variable) != before.end()) {
    return fmt::format("{}: the variable already has an update, expected at most one; keep the last", who);
  }
  if (graph.type(value) == node.results[0]) return "";
  return fmt::format("{}: {} is {}, expected {}; cast or reshape it", who, value_text(graph, value),
                     graph.type(value).to_text(), node.results[0].to_text());
}

}  // namespace millrace
