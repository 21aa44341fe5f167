// SPDX-License-Identifier: Apache-2.0
#include "examples/common/keep_state.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace common {

using namespace millrace;

Status keep_state(Graph& graph, std::string_view input, std::string_view output) {
  std::vector<std::string> inputs, outputs;
  for (const NodeId id : graph.inputs) inputs.push_back(*source_name(graph.nodes[id]));
  for (const GraphOutput& other : graph.outputs) outputs.push_back(other.name);
  const auto from = std::ranges::find(inputs, input), to = std::ranges::find(outputs, output);
  if (from == inputs.end() || to == outputs.end()) {
    return invalid_argument(
        fmt::format("graph '{}': found the inputs {} and the outputs {}, expected a state that comes in as '{}' and "
                    "leaves as '{}'; is this the right model?",
                    graph.name, fmt::join(inputs, ", "), fmt::join(outputs, ", "), input, output));
  }
  const auto input_at = graph.inputs.begin() + (from - inputs.begin());
  const auto output_at = graph.outputs.begin() + (to - outputs.begin());
  Node& node = graph.nodes[*input_at];
  const std::vector<std::byte> zero(size_bytes(node.results[0].dtype));  // the initial value of every element
  node.what = VariableNode{*from, SharedBytes(zero)};
  graph.updates.push_back({*input_at, output_at->value});
  graph.inputs.erase(input_at);
  graph.outputs.erase(output_at);
  return {};
}

}  // namespace common
