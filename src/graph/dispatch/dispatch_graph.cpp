// SPDX-License-Identifier: Apache-2.0
// verify and to_text of a DispatchGraph; dispatch.h lists the invariants.
#include <set>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/base/printable.h"
#include "millrace/graph/dispatch.h"
#include "millrace/graph/text.h"

namespace millrace {

Status verify(const DispatchGraph& dispatch) try {
  const InsideGuard inside;
  std::string problems;
  const auto problem = [&](const std::string& text) { problems += (problems.empty() ? "" : "\n") + text; };
  std::set<Value> ready;
  for (std::uint32_t i = 0; i < dispatch.graph.nodes.size(); ++i) {
    const Node& node = dispatch.graph.nodes[NodeId{i}];
    if (std::holds_alternative<InputNode>(node.what) || std::holds_alternative<ConstantNode>(node.what)) {
      ready.insert({NodeId{i}, 0});
    }
  }
  const IdVector<NodeId, std::uint32_t> used = used_results(dispatch.graph);
  for (const Region& region : dispatch.regions) {
    if (region.outputs.empty()) problem(fmt::format("region {}: stores nothing", region.name));
    for (const Value& input : region.inputs) {
      if (!ready.contains(dispatch.storage_of(input))) {
        problem(fmt::format("region {}: reads {}, which no earlier region stores", region.name,
                            value_text(dispatch.graph, input)));
      }
    }
    for (const Value& output : region.outputs) {
      if ((used[output.node] >> output.result & 1) == 0) {
        problem(fmt::format("region {}: stores {}, which is unused", region.name, value_text(dispatch.graph, output)));
      }
      if (!ready.insert(output).second) {
        problem(fmt::format("region {}: stores {}, which is stored already", region.name,
                            value_text(dispatch.graph, output)));
      }
    }
  }
  for (const GraphOutput& output : dispatch.graph.outputs) {
    if (!ready.contains(dispatch.storage_of(output.value))) {
      problem(fmt::format("output '{}': no region stores {}", printable(output.name),
                          value_text(dispatch.graph, output.value)));
    }
  }
  return problems.empty() ? Status() : internal_error(problems);
} catch (const std::bad_alloc&) {
  return out_of_memory_outside_guards("dispatches");
}

std::string to_text(const DispatchGraph& dispatch) {
  const Graph& graph = dispatch.graph;
  const auto list = [&](const std::vector<Value>& values) {
    std::string text;
    for (const Value& value : values) {
      text += fmt::format("{}{} : {}", text.empty() ? "" : ", ", value_text(graph, value), graph.type(value).to_text());
    }
    return text;
  };
  std::string text = fmt::format("dispatches of {}: {}\n", printable(graph.name), dispatch.regions.size());
  for (const Region& region : dispatch.regions) {
    text +=
        fmt::format("{}\n  reads  {}\n  stores {}\n  nodes ", region.name, list(region.inputs), list(region.outputs));
    for (NodeId node : region.nodes) text += fmt::format(" %{}={}", index_of(node), kind_name(graph.nodes[node]));
    text += "\n";
    for (const std::string& reason : region.reasons) text += fmt::format("  because {}\n", reason);
  }
  for (const auto& [view, storage] : dispatch.aliases) {
    text += fmt::format("{} is in the memory of {}\n", value_text(graph, view), value_text(graph, storage));
  }
  return text;
}

}  // namespace millrace
