// SPDX-License-Identifier: Apache-2.0
// Cuts a graph into regions. Each computing node starts in its own region; then regions that fit into one kernel are
// joined along the edges between them:
//   - an elementwise node joins the epilogue of a producer that writes the same points;
//   - an elementwise node joins the term of a reduction, or the load of a sort or scan, that is its only reader;
//   - index views (transpose, broadcast, slice) join every reader, as index maps;
//   - reshapes join nothing: they share storage.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/dispatch/node_instructions.h"
#include "graph/dispatch/place_parts.h"
#include "graph/dispatch/place_updates.h"
#include "graph/dispatch/views.h"
#include "jit/map/code_estimate.h"
#include "millrace/base/printable.h"
#include "millrace/graph/dispatch.h"
#include "millrace/graph/text.h"
#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

constexpr std::uint32_t kNone = ~0u;
/// Joining costs time linear in the region, and generating code grows faster than the kernel. Chosen because forming
/// and code generation were quadratic without a limit.
constexpr std::size_t kMaxRegionNodes = 128;
/// The instruction limit for a body with a root; kMaxMapInstructions is the limit for a map. A reduction or contraction
/// has four copies of the body, for full and remainder rows and columns. A separate pass over memory costs little next
/// to so many instructions.
constexpr std::int64_t kMaxRootInstructions = kMaxKernelInstructions / 4 - 50;

bool has_trait(const Node& node, OpTraits trait) {
  const auto* op = std::get_if<OpNode>(&node.what);
  return op && has_trait(op->op, trait);
}

bool takes_term_producers(const Node& node) { return has_trait(node, kTakesTerm); }
bool takes_load(const Node& node) { return has_trait(node, kTakesLoad); }

/// Whether the node reads its operands through index maps, into which views can be composed.
bool looks_through_views(const Node& node) {
  return is_elementwise(node) || is_index_view(node) || takes_term_producers(node) || has_trait(node, kReadsViews);
}

/// Whether the node's kernel has an epilogue at each result point.
bool takes_epilogue(const Node& node) { return is_elementwise(node) || has_trait(node, kTakesEpilogue); }

class Former {
 public:
  explicit Former(Graph graph) : graph_(std::move(graph)) {}

  DispatchGraph run() {
    prepare();
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (groups_[i].empty()) continue;
      const Node& node = graph_.nodes[NodeId{i}];
      if (is_elementwise(node)) join_producers_of_elementwise(i);
      if (takes_term_producers(node)) join_producers_of(i, "term");
      // A view alone is no work to do while reading, and its elements may be apart.
      if (takes_load(node) && is_elementwise(graph_.nodes[node.operands[0].node])) join_producers_of(i, "load");
    }
    return finish();
  }

 private:
  const Node& node(std::uint32_t i) const { return graph_.nodes[NodeId{i}]; }
  std::uint32_t find(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  /// Creates one group per computing node. An index view gets a group only if somebody needs its elements in memory.
  void prepare() {
    const std::size_t count = graph_.nodes.size();
    users_.resize(count);
    groups_.resize(count);
    root_.assign(count, kNone);
    instructions_.assign(count, 0);
    reasons_.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) parent_.push_back(i);
    std::vector<bool> stored(count, false);
    for (const Value& value : required_values(graph_)) stored[index_of(value.node)] = true;
    const IdVector<NodeId, std::uint32_t> used = used_results(graph_);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (used[NodeId{i}] == 0) continue;
      for (const Value& operand : node(i).operands) {
        users_[index_of(operand.node)].insert(i);
        if (!looks_through_views(node(i))) stored[index_of(operand.node)] = true;
      }
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      is_output_.push_back(false);
      if (used[NodeId{i}] == 0 || is_source(node(i)) || is_storage_view(node(i))) continue;
      if (is_index_view(node(i)) && !stored[i]) continue;
      groups_[i] = {i};
      instructions_[i] = body_instructions(graph_, node(i));
      if (!is_elementwise(node(i)) && !is_index_view(node(i))) root_[i] = i;
    }
    for (const Value& value : required_values(graph_)) is_output_[index_of(value.node)] = true;
  }

  /// The group that produces the storage behind `operand`, looking through views and reshapes; kNone for inputs and
  /// constants.
  std::uint32_t producer_group(Value operand) {
    std::uint32_t i = index_of(operand.node);
    while (groups_of(i) == kNone && !node(i).operands.empty() && !is_source(node(i)))
      i = index_of(node(i).operands[0].node);
    return groups_of(i);
  }
  std::uint32_t groups_of(std::uint32_t i) {
    const std::uint32_t g = find(i);
    return groups_[g].empty() ? kNone : g;
  }

  /// Whether `to` depends on `from` through a third group, so that joining the two would create a cycle.
  bool is_reached_around(std::uint32_t from, std::uint32_t to) {
    std::set<std::uint32_t> seen;
    std::vector<std::uint32_t> open = {to};
    const std::uint32_t first = groups_[from].front();
    bool is_start = true;
    while (!open.empty()) {
      const std::uint32_t group = open.back();
      open.pop_back();
      for (std::uint32_t member : groups_[group]) {
        for (const Value& operand : node(member).operands) {
          const std::uint32_t producer = producer_group(operand);
          if (producer == kNone || producer == group) continue;
          if (producer == from) {
            // A reader behind a view needs `from` at other points than its own, so `from` must be in memory.
            if (!is_start || groups_of(index_of(operand.node)) != from) return true;
            continue;
          }
          // Members are in graph order and no group reads later nodes, so groups before `from` cannot need it.
          if (groups_[producer].back() < first) continue;
          if (seen.insert(producer).second) open.push_back(producer);
        }
      }
      is_start = false;
    }
    return false;
  }

  /// Whether the root of `group` reads from `from`. It reads at points of its own, so `from` must be in memory.
  bool root_reads(std::uint32_t group, std::uint32_t from) {
    return root_[group] != kNone && std::ranges::any_of(node(root_[group]).operands, [&](const Value& operand) {
             return producer_group(operand) == from;
           });
  }

  bool is_too_large_together(std::uint32_t a, std::uint32_t b) const {
    const bool has_root = root_[a] != kNone || root_[b] != kNone;
    return groups_[a].size() + groups_[b].size() > kMaxRegionNodes ||
           instructions_[a] + instructions_[b] > (has_root ? kMaxRootInstructions : kMaxMapInstructions);
  }

  void join(std::uint32_t into, std::uint32_t other, std::string reason) {
    std::vector<std::uint32_t> members;
    std::merge(groups_[into].begin(), groups_[into].end(), groups_[other].begin(), groups_[other].end(),
               std::back_inserter(members));
    groups_[into] = std::move(members);
    groups_[other].clear();
    instructions_[into] += instructions_[other];
    parent_[other] = into;
    if (root_[into] == kNone) root_[into] = root_[other];
    for (std::string& earlier : reasons_[other]) reasons_[into].push_back(std::move(earlier));
    reasons_[into].push_back(std::move(reason));
  }

  /// The shape of the points at which a group stores.
  const Shape& points(std::uint32_t group) const {
    const std::uint32_t at = root_[group] != kNone ? root_[group] : groups_[group].front();
    return node(at).results[0].shape;
  }

  void join_producers_of_elementwise(std::uint32_t i) {
    for (const Value& operand : node(i).operands) {
      const std::uint32_t consumer = find(i);
      const std::uint32_t producer = groups_of(index_of(operand.node));
      if (producer == kNone || producer == consumer) continue;
      if (root_[producer] != kNone && (root_[consumer] != kNone || !takes_epilogue(node(root_[producer])))) continue;
      // The term nodes of a fused reduction have other points; only values at the result's points can be extended.
      if (!(points(producer) == node(i).results[0].shape) ||
          !(graph_.type(operand).shape == node(i).results[0].shape)) {
        continue;
      }
      if (is_too_large_together(producer, consumer)) continue;
      if (root_reads(producer, consumer) || root_reads(consumer, producer)) continue;
      if (is_reached_around(producer, consumer) || is_reached_around(consumer, producer)) continue;
      join(producer, consumer,
           fmt::format("{} at the points of {}: no store and load between them", value_text(graph_, {NodeId{i}, 0}),
                       value_text(graph_, operand)));
    }
  }

  /// Joins the group of the node's operand to it, as what its kernel does to each element of that first.
  void join_producers_of(std::uint32_t i, std::string_view place) {
    const Value operand = node(i).operands[0];
    const std::uint32_t producer = groups_of(index_of(operand.node));
    if (producer == kNone || root_[producer] != kNone) return;
    for (std::uint32_t member : groups_[producer]) {
      if (is_output_[member]) return;
      for (std::uint32_t user : users_[member]) {
        if (user != i && groups_of(user) != producer) return;
      }
    }
    if (is_too_large_together(producer, find(i)) || is_reached_around(producer, find(i))) return;
    join(find(i), producer,
         fmt::format("{} in the {} of {}, its only reader", value_text(graph_, operand), place,
                     value_text(graph_, {NodeId{i}, 0})));
  }

  DispatchGraph finish();
  std::vector<std::uint32_t> ordered_groups();
  Region make_region(std::uint32_t group, const std::set<Value>& needed);
  void collect_inputs(Value operand, std::uint32_t group, Region& region, std::set<Value>& inputs,
                      std::set<NodeId>& nodes);

  Graph graph_;
  std::vector<std::set<std::uint32_t>> users_;
  std::vector<std::vector<std::uint32_t>> groups_;  // by representative; members in graph order
  std::vector<std::int64_t> instructions_;          // by group, of its bodies
  std::vector<std::uint32_t> parent_;
  std::vector<std::uint32_t> root_;  // by group: the one node that is neither elementwise nor a view
  std::vector<std::vector<std::string>> reasons_;
  std::vector<bool> is_output_;  // or a variable's new value
};

std::vector<std::uint32_t> Former::ordered_groups() {
  std::vector<std::uint32_t> order;
  std::vector<bool> done(graph_.nodes.size(), false);
  // Depth first with an explicit stack: a chain of groups may be as long as the graph.
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
    if (groups_of(i) == kNone) continue;
    std::vector<std::pair<std::uint32_t, bool>> open = {{find(i), false}};
    while (!open.empty()) {
      const auto [group, ready] = open.back();
      open.pop_back();
      if (done[group]) continue;
      if (ready) {
        done[group] = true;
        order.push_back(group);
        continue;
      }
      open.push_back({group, true});
      for (std::uint32_t member : groups_[group]) {
        for (const Value& operand : node(member).operands) {
          const std::uint32_t producer = producer_group(operand);
          if (producer != kNone && producer != group && !done[producer]) open.push_back({producer, false});
        }
      }
    }
  }
  return order;
}

/// Follows views, which the region gets its own copies of, to the values in memory.
void Former::collect_inputs(Value operand, std::uint32_t group, Region& region, std::set<Value>& inputs,
                            std::set<NodeId>& nodes) {
  const std::uint32_t i = index_of(operand.node);
  if (groups_of(i) == group) return;
  if (groups_of(i) == kNone && is_index_view(node(i))) {
    nodes.insert(operand.node);
    return collect_inputs(node(i).operands[0], group, region, inputs, nodes);
  }
  if (inputs.insert(operand).second) region.inputs.push_back(operand);
}

Region Former::make_region(std::uint32_t group, const std::set<Value>& needed) {
  Region region;
  std::set<Value> inputs;
  std::set<NodeId> nodes;
  for (std::uint32_t member : groups_[group]) {
    nodes.insert(NodeId{member});
    for (const Value& operand : node(member).operands) collect_inputs(operand, group, region, inputs, nodes);
    for (std::uint32_t result = 0; result < node(member).results.size(); ++result) {
      const bool is_control = !bodies_of(node(member)).empty();
      if (is_control || needed.contains({NodeId{member}, result})) region.outputs.push_back({NodeId{member}, result});
    }
  }
  region.nodes.assign(nodes.begin(), nodes.end());
  region.reasons = reasons_[group];
  std::string name;
  std::size_t named = 0;
  for (std::uint32_t member : groups_[group]) {
    if (++named > 4) {
      name += fmt::format("_and_{}", groups_[group].size() - 4);
      break;
    }
    const auto* kernel = std::get_if<KernelNode>(&node(member).what);
    name += (name.empty() ? "" : "_") + (kernel ? printable(kernel->kernel.name) : kind_name(node(member)));
  }
  region.name = name;
  return region;
}

DispatchGraph Former::finish() {
  DispatchGraph result;
  std::set<Value> needed;  // values read from memory outside their group
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
    if (is_storage_view(node(i))) result.aliases[{NodeId{i}, 0}] = node(i).operands[0];
    const bool is_pure_view = groups_of(i) == kNone && is_index_view(node(i));
    for (const Value& operand : node(i).operands) {
      const std::uint32_t producer = groups_of(index_of(operand.node));
      if (is_storage_view(node(i)) || is_pure_view ? !users_[i].empty() || is_output_[i]
                                                   : groups_of(i) != kNone && producer != groups_of(i)) {
        needed.insert(operand);
      }
    }
  }
  for (const Value& value : required_values(graph_)) needed.insert(value);
  for (std::uint32_t group : ordered_groups()) {
    Region region = make_region(group, needed);
    region.name += fmt::format("_{}", result.regions.size());
    result.regions.push_back(std::move(region));
  }
  result.graph = std::move(graph_);
  return result;
}

}  // namespace

Result<DispatchGraph> form_dispatches(Graph graph) try {
  const InsideGuard inside;
  MILLRACE_TRY(verify(graph));
  DispatchGraph result = Former(std::move(graph)).run();
  for (Region& region : result.regions) {
    for (const Graph* body : bodies_of(std::as_const(result.graph.nodes[region.nodes[0]]))) {
      MILLRACE_TRY_ASSIGN(DispatchGraph formed, form_dispatches(*body));
      region.bodies.push_back(std::make_shared<const DispatchGraph>(std::move(formed)));
    }
  }
  place_parts(result);
  place_updates(result);
  MILLRACE_TRY(verify(result));
  return result;
} catch (const std::bad_alloc&) {
  return out_of_memory_outside_guards("dispatches");
}

}  // namespace millrace
