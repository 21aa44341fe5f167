// SPDX-License-Identifier: Apache-2.0
// Checks and prints a DispatchGraph; dispatch.h lists the invariants.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/verification.h"
#include "graph/dispatch/nest_reads.h"
#include "millrace/base/indent.h"
#include "millrace/base/printable.h"
#include "millrace/graph/dispatch.h"
#include "millrace/graph/text.h"
#include "millrace/hal/command_list.h"

namespace millrace {
namespace {

/// The values in memory so far: values that regions store, and concats without a region once all their operands are
/// stored as parts.
class StoredValues {
 public:
  explicit StoredValues(const DispatchGraph& dispatch) : dispatch_(dispatch) {
    for (std::uint32_t i = 0; i < dispatch.graph.nodes.size(); ++i) {
      if (is_source(dispatch.graph.nodes[NodeId{i}])) stored_.insert({NodeId{i}, 0});
    }
    for (const auto& [value, part] : dispatch.parts) {
      missing_.try_emplace(part.whole, dispatch.graph.nodes[part.whole.node].operands.size());
    }
    for (const Region& region : dispatch.regions) {
      for (const Value& output : region.outputs) missing_.erase(output);
    }
  }

  bool contains(Value value) const { return stored_.contains(dispatch_.storage_of(value)); }

  /// Returns false if the value is stored already.
  bool add(Value value) {
    if (!stored_.insert(value).second) return false;
    for (auto part = dispatch_.parts.find(value); part != dispatch_.parts.end();) {
      const Value whole = part->second.whole;
      const auto missing = missing_.find(whole);
      if (missing == missing_.end() || --missing->second > 0) break;
      stored_.insert(whole);
      part = dispatch_.parts.find(whole);
    }
    return true;
  }

 private:
  const DispatchGraph& dispatch_;
  std::set<Value> stored_;
  std::map<Value, std::size_t> missing_;  // concat without a region -> operands that are not stored yet
};

}  // namespace

namespace {

template <class Problem>
void check_update(const DispatchGraph& dispatch, const StoredValues& ready, const GraphUpdate& update,
                  Problem&& problem) {
  const Value variable{update.variable, 0};
  const std::string name = value_text(dispatch.graph, variable);
  if (!ready.contains(update.value)) {
    problem(fmt::format("update of {}: no region stores {}", name, value_text(dispatch.graph, update.value)));
  }
  const auto is_same = [&](const CopiedUpdate& copy) { return copy.update == update; };
  if (dispatch.memory_of(update.value) != variable && std::ranges::none_of(dispatch.copied_updates, is_same)) {
    problem(fmt::format("update of {}: {} is neither stored in it nor copied to it", name,
                        value_text(dispatch.graph, update.value)));
  }
}

}  // namespace

namespace {

/// Whether another value has overwritten `value`, or a value that contains it as a part.
bool is_replaced(const DispatchGraph& dispatch, const std::set<Value>& replaced, Value value) {
  value = dispatch.storage_of(value);
  while (!replaced.contains(value)) {
    const auto part = dispatch.parts.find(value);
    if (part == dispatch.parts.end()) return false;
    value = part->second.whole;
  }
  return true;
}

}  // namespace

Layout DispatchGraph::layout_of(Value value) const {
  const Shape& shape = graph.type(value).shape;
  Layout layout = Layout::row_major(shape);
  const auto part = parts.find(value);
  if (part == parts.end()) return layout;
  std::size_t first = 0;
  for (const auto& [num_outer_dims, pitch_elements] : part->second.rows) {
    SizeExpr stride = pitch_elements;
    for (std::size_t d = num_outer_dims; d-- > first;) {
      layout.strides[d] = stride;
      stride = stride * shape[d];
    }
    first = num_outer_dims;
  }
  return layout;
}

Status verify(const DispatchGraph& dispatch) {
  return guard_allocations([&]() -> Status {
    VerificationCount::note(IrLevel::kDispatchGraph);
    std::string problems;
    const auto problem = [&](const std::string& text) { problems += (problems.empty() ? "" : "\n") + text; };
    StoredValues ready(dispatch);
    const IdVector<NodeId, std::uint32_t> used = used_results(dispatch.graph);
    std::set<Value> replaced;  // keyed by storage
    for (const Region& region : dispatch.regions) {
      if (region.outputs.empty()) problem(fmt::format("region {}: stores nothing", region.name));
      for (const auto& body : region.bodies) {
        const Status status = unguarded(verify(*body));
        if (!status.ok()) problem(fmt::format("region {}: {}", region.name, status.message()));
      }
      for (const Value& input : region.inputs) {
        const auto part = dispatch.parts.find(dispatch.storage_of(input));
        if (part != dispatch.parts.end() && !part->second.rows.empty()) {
          problem(fmt::format(
              "region {}: reads {}, which is stored in {} with gaps between its rows, expected an input without gaps",
              region.name, value_text(dispatch.graph, input), value_text(dispatch.graph, part->second.whole)));
        }
        if (!ready.contains(input)) {
          problem(fmt::format("region {}: reads {}, which no earlier region stores", region.name,
                              value_text(dispatch.graph, input)));
        }
        if (is_replaced(dispatch, replaced, input)) {
          problem(fmt::format("region {}: reads {}, which an earlier region replaces", region.name,
                              value_text(dispatch.graph, input)));
        }
      }
      for (const Value& output : region.outputs) {
        const bool may_be_unused = !region.bodies.empty() || own_nest(dispatch.graph.nodes[output.node]) != nullptr;
        if ((used[output.node] >> output.result & 1) == 0 && !may_be_unused) {
          problem(
              fmt::format("region {}: stores {}, which is unused", region.name, value_text(dispatch.graph, output)));
        }
        if (!ready.add(output)) {
          problem(fmt::format("region {}: stores {}, which is stored already", region.name,
                              value_text(dispatch.graph, output)));
        }
        if (const auto old = dispatch.in_place.find(output); old != dispatch.in_place.end()) {
          replaced.insert(dispatch.storage_of(old->second));
        }
      }
    }
    for (const GraphUpdate& update : dispatch.graph.updates) check_update(dispatch, ready, update, problem);
    for (const GraphOutput& output : dispatch.graph.outputs) {
      if (!ready.contains(output.value)) {
        problem(fmt::format("output '{}': no region stores {}", printable(output.name),
                            value_text(dispatch.graph, output.value)));
      }
    }
    return problems.empty() ? Status() : internal_error(problems);
  });
}

std::string label_of(const Graph& graph, std::span<const NodeId> nodes) {
  std::string scope;
  for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
    const Node& node = graph.nodes[*id];
    for (std::uint32_t result = 0; result < node.names.size(); ++result) {
      if (!node.names[result].empty()) return value_text(graph, {*id, result}).substr(1);
    }
    if (scope.empty()) scope = graph.scopes.prefix_text(node.scope);
  }
  if (!scope.empty()) scope.pop_back();  // drop the final '/'
  return scope;
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
    text += fmt::format("{}\n  reads  {}\n  stores {}\n  nodes ", labelled(region.name, region.label),
                        list(region.inputs), list(region.outputs));
    for (NodeId node : region.nodes) text += fmt::format(" %{}={}", index_of(node), kind_name(graph.nodes[node]));
    text += "\n";
    for (const std::string& reason : region.reasons) text += fmt::format("  because {}\n", reason);
    for (const CopiedOperand& copy : region.copies) text += fmt::format("  copies, as {}\n", copy.reason);
    for (const auto& body : region.bodies) text += indented(to_text(*body), "  ");
    if (!region.copy_reason.empty()) text += fmt::format("  copies its operand first, as {}\n", region.copy_reason);
  }
  for (const auto& [view, storage] : dispatch.aliases) {
    text += fmt::format("{} is in the memory of {}\n", value_text(graph, view), value_text(graph, storage));
  }
  for (const auto& [value, part] : dispatch.parts) {
    text += fmt::format("{} is in the memory of {}, from element {}", value_text(graph, value),
                        value_text(graph, part.whole), part.offset_elements.to_text());
    for (const StoragePart::Rows& rows : part.rows) text += ", a row every " + rows.pitch_elements.to_text();
    text += "\n";
  }
  for (const auto& [value, old] : dispatch.in_place) {
    text += fmt::format("{} replaces {} in its memory\n", value_text(graph, value), value_text(graph, old));
  }
  for (const auto& [update, reason] : dispatch.copied_updates) {
    text += fmt::format("{} is copied to {}, as {}\n", value_text(graph, update.value),
                        value_text(graph, {update.variable, 0}), reason);
  }
  return text;
}

}  // namespace millrace
