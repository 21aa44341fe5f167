// SPDX-License-Identifier: Apache-2.0
// Collects what run-time messages need while the graph still exists: which node checks which index, and what takes the
// most memory.
#include "graph/compile/find_diagnostics.h"

#include <algorithm>

#include <fmt/format.h>

#include "millrace/graph/text.h"

namespace millrace {
namespace {

using Place = IndexCheck::Place;

/// The binding and offset that hold the value, if a later message can read it there: a session binds inputs, then
/// outputs, then one buffer of all constants. Empty for a variable, whose value may have changed by then.
std::optional<Place> place_of(const LoweredGraph& lowered, Value storage) {
  const Graph& graph = lowered.dispatch.graph;
  if (const auto* constant = std::get_if<ConstantNode>(&graph.nodes[storage.node].what)) {
    const auto& resources = lowered.schedule.resources;
    const auto resource = std::ranges::find_if(
        resources, [&](const Resource& known) { return known.constant.is_shared_with(constant->data); });
    if (resource == resources.end() || constant->prepared) return {};
    return Place{graph.inputs.size() + graph.outputs.size(),
                 static_cast<std::size_t>(resource->offset_bytes.constant()), constant->data.size()};
  }
  const auto input = std::ranges::find(graph.inputs, storage.node);
  if (input != graph.inputs.end()) return Place{static_cast<std::size_t>(input - graph.inputs.begin())};
  const auto output = std::ranges::find_if(
      graph.outputs, [&](const GraphOutput& known) { return lowered.dispatch.storage_of(known.value) == storage; });
  if (output == graph.outputs.end()) return {};
  return Place{graph.inputs.size() + static_cast<std::size_t>(output - graph.outputs.begin())};
}

IndexCheck make_check(const LoweredGraph& lowered, NodeId id, const GatherAttrs& attributes) {
  const Graph& graph = lowered.dispatch.graph;
  const Value from = graph.nodes[id].operands[0], indices = graph.nodes[id].operands[1];
  const TensorType& from_type = graph.type(from);
  const auto rank = static_cast<std::int64_t>(from_type.shape.rank());
  const std::shared_ptr<const NodeOrigin>& origin = graph.nodes[id].origin;
  std::string explanation = origin != nullptr ? origin->wrong_index : std::string();
  if (origin != nullptr && explanation.empty()) explanation = "an index that it computes is out of range";
  return {caller_text(graph, id), std::move(explanation), value_text(graph, indices), value_text(graph, from),
          graph.type(indices), from_type,
          static_cast<std::size_t>(attributes.axis < 0 ? attributes.axis + rank : attributes.axis),
          // A body's operand can be at another place in each iteration, or be overwritten before a message reads it.
          graph.is_body ? std::nullopt : place_of(lowered, lowered.dispatch.storage_of(indices))};
}

std::vector<IndexCheck> checks_of(const LoweredGraph& lowered, const Region& region) {
  std::vector<IndexCheck> checks;
  for (const NodeId id : region.nodes) {
    const auto* op = std::get_if<OpNode>(&lowered.dispatch.graph.nodes[id].what);
    const auto* attributes = op ? std::get_if<GatherAttrs>(&op->attributes) : nullptr;
    if (attributes) checks.push_back(make_check(lowered, id, *attributes));
  }
  return checks;
}

/// "%y = loop: %z = cond: ", for a command in that condition in that loop.
std::string nodes_around(const IdVector<CommandId, CommandOrigin>& origins, CommandId id) {
  std::string text;
  for (auto around = origins[id].around; around; around = origins[*around].around) {
    const auto& [graph, step, next] = origins[*around];
    const NodeId control = graph->dispatch.regions[*step->region].nodes[0];
    text = fmt::format("{}: {}", node_text(graph->dispatch.graph, control), text);
  }
  return text;
}

IdVector<CommandId, std::vector<IndexCheck>> find_index_checks(const LoweredGraph& lowered) {
  IdVector<CommandId, std::vector<IndexCheck>> checks;
  const IdVector<CommandId, CommandOrigin> origins = find_origins(lowered);
  for (const CommandOrigin& origin : origins) {
    const CommandId id = checks.push_back({});
    if (origin.step == nullptr || !origin.step->kernel) continue;
    checks[id] = checks_of(*origin.graph, origin.graph->dispatch.regions[*origin.step->region]);
    for (IndexCheck& check : checks[id]) check.node = nodes_around(origins, id) + check.node;
  }
  return checks;
}

/// The largest resource of constant size, and every resource of symbolic size.
std::vector<NamedBytes> find_largest(const Schedule& schedule, Lifetime lifetime) {
  std::vector<NamedBytes> found;
  const Resource* largest = nullptr;
  for (const Resource& resource : schedule.resources) {
    if (resource.lifetime != lifetime) continue;
    if (!resource.size_bytes.is_constant()) {
      found.push_back({resource.name, resource.size_bytes});
    } else if (largest == nullptr || resource.size_bytes.constant() > largest->size_bytes.constant()) {
      largest = &resource;
    }
  }
  if (largest != nullptr) found.insert(found.begin(), {largest->name, largest->size_bytes});
  return found;
}

}  // namespace

RunDiagnostics find_diagnostics(const LoweredGraph& lowered) {
  return {find_index_checks(lowered), find_largest(lowered.schedule, Lifetime::kConstant),
          find_largest(lowered.schedule, Lifetime::kTransient), find_largest(lowered.schedule, Lifetime::kVariable)};
}

}  // namespace millrace
