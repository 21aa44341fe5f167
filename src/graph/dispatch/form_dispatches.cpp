// SPDX-License-Identifier: Apache-2.0
// Cuts a graph into regions: forms groups of nodes (node_groups.h), and finds what each group reads and stores.
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/verification.h"
#include "graph/dispatch/nest_reads.h"
#include "graph/dispatch/node_groups.h"
#include "graph/dispatch/place_parts.h"
#include "graph/dispatch/place_updates.h"
#include "graph/dispatch/views.h"
#include "millrace/base/printable.h"
#include "millrace/graph/dispatch.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

constexpr std::uint32_t kNone = NodeGroups::kNone;

class Former {
 public:
  explicit Former(Graph graph) : graph_(std::move(graph)), used_(used_results(graph_)), groups_(graph_) {}

  DispatchGraph finish();

 private:
  const Node& node(std::uint32_t i) const { return graph_.nodes[NodeId{i}]; }
  /// An application's nest stores all its results, even those that nothing reads: its passes belong together.
  bool stores_unused(std::uint32_t i, std::uint32_t result) const {
    return own_nest(node(i)) != nullptr && (used_[NodeId{i}] >> result & 1) == 0;
  }
  std::vector<std::uint32_t> ordered_groups();
  Region make_region(std::uint32_t group, const std::set<Value>& needed);
  void collect_inputs(Value operand, std::uint32_t group, Region& region, std::set<Value>& inputs,
                      std::set<NodeId>& nodes);

  Graph graph_;
  IdVector<NodeId, std::uint32_t> used_;
  NodeGroups groups_;
};

std::vector<std::uint32_t> Former::ordered_groups() {
  std::vector<std::uint32_t> order;
  std::vector<bool> begun(graph_.nodes.size(), false), done = begun;
  // Depth first with an explicit stack: a chain of groups may be as long as the graph.
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
    if (groups_.group_of(i) == kNone) continue;
    std::vector<std::pair<std::uint32_t, bool>> open = {{groups_.group_of(i), false}};
    while (!open.empty()) {
      const auto [group, ready] = open.back();
      open.pop_back();
      // A group that has begun and is not done needs itself. verify() reports that.
      if (done[group] || (begun[group] && !ready)) continue;
      begun[group] = true;
      if (ready) {
        done[group] = true;
        order.push_back(group);
        continue;
      }
      open.push_back({group, true});
      for (std::uint32_t member : groups_.members(group)) {
        for (const Value& operand : node(member).operands) {
          const std::uint32_t producer = groups_.producer_group(operand);
          if (producer != kNone && producer != group && !done[producer]) open.push_back({producer, false});
        }
      }
    }
  }
  return order;
}

/// Follows views to the values in memory. The region gets its own copies of the views.
void Former::collect_inputs(Value operand, std::uint32_t group, Region& region, std::set<Value>& inputs,
                            std::set<NodeId>& nodes) {
  const std::uint32_t i = index_of(operand.node);
  if (groups_.group_of(i) == group) return;
  if (groups_.group_of(i) == kNone && is_index_view(node(i))) {
    nodes.insert(operand.node);
    return collect_inputs(node(i).operands[0], group, region, inputs, nodes);
  }
  if (inputs.insert(operand).second) region.inputs.push_back(operand);
}

Region Former::make_region(std::uint32_t group, const std::set<Value>& needed) {
  Region region;
  std::set<Value> inputs;
  std::set<NodeId> nodes;
  for (std::uint32_t member : groups_.members(group)) {
    nodes.insert(NodeId{member});
    for (const Value& operand : node(member).operands) collect_inputs(operand, group, region, inputs, nodes);
    for (std::uint32_t result = 0; result < node(member).results.size(); ++result) {
      const bool is_control = !bodies_of(node(member)).empty();
      if (is_control || needed.contains({NodeId{member}, result}) || stores_unused(member, result)) {
        region.outputs.push_back({NodeId{member}, result});
      }
    }
  }
  region.nodes.assign(nodes.begin(), nodes.end());
  region.reasons = groups_.reasons(group);
  std::string name;
  std::size_t named = 0;
  for (std::uint32_t member : groups_.members(group)) {
    if (++named > 4) {
      name += fmt::format("_and_{}", groups_.members(group).size() - 4);
      break;
    }
    const auto* kernel = std::get_if<KernelNode>(&node(member).what);
    const LoopKernel* nest = own_nest(node(member));
    name += (name.empty() ? "" : "_") + (kernel ? printable(kernel->kernel.name)
                                         : nest ? printable(nest->name)
                                                : kind_name(node(member)));
  }
  region.name = name;
  return region;
}

DispatchGraph Former::finish() {
  DispatchGraph result;
  std::set<Value> needed;  // values read from memory outside their group
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
    if (is_storage_view(node(i))) result.aliases[{NodeId{i}, 0}] = node(i).operands[0];
    for (const Value& operand : node(i).operands) {
      if (groups_.is_stored_for(operand, i)) needed.insert(operand);
    }
  }
  for (const Value& value : required_values(graph_)) needed.insert(value);
  for (std::uint32_t group : ordered_groups()) {
    Region region = make_region(group, needed);
    region.name += fmt::format("_{}", result.regions.size());
    region.label = label_of(graph_, region.nodes);
    result.regions.push_back(std::move(region));
  }
  result.separations = groups_.take_separations();
  result.graph = std::move(graph_);
  return result;
}

/// Forms the regions of a graph and of its bodies, and places parts and updates. The caller verifies the result, bodies
/// included.
DispatchGraph form(Graph graph) {
  DispatchGraph result = Former(std::move(graph)).finish();
  for (Region& region : result.regions) {
    for (const Graph* body : bodies_of(std::as_const(result.graph.nodes[region.nodes[0]]))) {
      region.bodies.push_back(std::make_shared<const DispatchGraph>(form(*body)));
    }
  }
  place_parts(result);
  place_updates(result);
  return result;
}

}  // namespace

Result<DispatchGraph> form_dispatches(Graph graph) {
  return guard_allocations([&]() -> Result<DispatchGraph> {
    MILLRACE_TRY(verify_step(graph));
    DispatchGraph result = form(std::move(graph));
    MILLRACE_TRY(verify(result));
    return result;
  });
}

}  // namespace millrace
