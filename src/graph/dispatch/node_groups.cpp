// SPDX-License-Identifier: Apache-2.0
// Groups the nodes that become one kernel. Each computing node starts in its own group; then groups that fit into one
// kernel are joined along the edges between them:
//   - an elementwise node joins the epilogue of a producer that writes the same points;
//   - an elementwise node joins the term of a reduction, or the load of a sort or scan, that is its only reader;
//   - an iota joins the term of a reduction in the same way;
//   - reductions over the same points that read the same value join each other, and so do gathers (join_siblings.cpp);
//   - groups that walk the same rows join each other (join_rows.cpp);
//   - index views (transpose, broadcast, slice) join every reader, as index maps;
//   - reshapes join nothing: they share storage.
// The obstacle that keeps two neighbours apart is noted with the edge between them (Separation).
#include "graph/dispatch/node_groups.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "graph/dispatch/nest_reads.h"
#include "graph/dispatch/node_instructions.h"
#include "graph/dispatch/views.h"
#include "jit/map/code_estimate.h"
#include "millrace/graph/text.h"
#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

/// The maximum number of nodes in a region. Joining takes time linear in the size of the region, and code generation
/// takes more than linear time in the size of the kernel, so without a limit both would be quadratic in the graph.
constexpr std::int64_t kMaxRegionNodes = 128;
/// The maximum number of instructions of a body with a root; kMaxMapInstructions is the limit for a map. A reduction or
/// contraction has four copies of the body, for full and remainder rows and columns. Compared with that many
/// instructions, one more pass over memory costs little.
constexpr std::int64_t kMaxRootInstructions = kMaxKernelInstructions / 4 - 50;

bool has_trait(const Node& node, OpTraits trait) {
  const auto* op = std::get_if<OpNode>(&node.what);
  return op && has_trait(op->op, trait);
}

bool has_fusible_term(const Node& node) { return has_trait(node, kFusibleTerm); }
bool has_fusible_load(const Node& node) { return has_trait(node, kFusibleLoad); }

/// Whether the node reads the operand through index maps, into which views can be composed.
bool looks_through_views(const Node& node, std::size_t operand) {
  if (const LoopKernel* nest = own_nest(node)) return reads_plainly(*nest, operand);
  return is_elementwise(node) || is_index_view(node) || has_fusible_term(node) || has_trait(node, kReadsViews);
}

/// Whether the node reads each element once, so that computing an iota there is cheaper than reading it from memory.
bool is_reduction(const Node& node) {
  const auto* op = std::get_if<OpNode>(&node.what);
  return op != nullptr && std::holds_alternative<ReduceAttrs>(op->attributes);
}

/// Whether the node's kernel has an epilogue at each result point.
bool has_fusible_epilogue(const Node& node) {
  return is_elementwise(node) || has_trait(node, kFusibleEpilogue) || own_nest(node) != nullptr;
}

bool is_control(const Node& node) {
  return std::holds_alternative<LoopNode>(node.what) || std::holds_alternative<CondNode>(node.what);
}

Separation obstacle(JoinObstacle what, std::uint32_t node, std::uint32_t other = NodeGroups::kNone) {
  return {.obstacle = what, .node = NodeId{node}, .other = NodeId{other}};
}

}  // namespace

NodeGroups::NodeGroups(const Graph& graph) : graph_(graph) {
  prepare();
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
    if (groups_[i].empty()) continue;
    consider_operands(i);
    join_sibling(i);
  }
  join_rows();
}

std::uint32_t NodeGroups::find(std::uint32_t i) {
  while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
  return i;
}

/// Creates one group per computing node. An index view gets a group only if some node needs its elements in memory.
void NodeGroups::prepare() {
  const std::size_t count = graph_.nodes.size();
  users_.resize(count);
  groups_.resize(count);
  root_.assign(count, kNone);
  instructions_.assign(count, 0);
  reasons_.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) parent_.push_back(i);
  reach_ = parent_;
  std::vector<bool> stored(count, false);
  for (const Value& value : required_values(graph_)) stored[index_of(value.node)] = true;
  const IdVector<NodeId, std::uint32_t> used = used_results(graph_);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (used[NodeId{i}] == 0) continue;
    for (std::size_t k = 0; k < node(i).operands.size(); ++k) {
      const std::uint32_t operand = index_of(node(i).operands[k].node);
      users_[operand].insert(i);
      if (!looks_through_views(node(i), k)) stored[operand] = true;
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

/// The value in memory from which `operand` is read, looking through views and reshapes.
Value NodeGroups::stored_value(Value operand) {
  while (group_of(index_of(operand.node)) == kNone) {
    const Node& view = graph_.nodes[operand.node];
    if (view.operands.empty() || is_source(view)) break;
    operand = view.operands[0];
  }
  return operand;
}

std::uint32_t NodeGroups::group_of(std::uint32_t i) {
  const std::uint32_t g = find(i);
  return groups_[g].empty() ? kNone : g;
}

/// Why a view between two groups keeps them apart. Through an index view, `reader` reads at points other than its own;
/// through a reshape, it reads several rows as one row. So the view's operand must be in memory.
Separation NodeGroups::obstacle_after(std::uint32_t view, std::uint32_t reader) const {
  return obstacle(is_storage_view(node(view)) ? JoinObstacle::kAfterReshape : JoinObstacle::kAfterView, view, reader);
}

/// A member of `group` that reads the view; the view itself if there is none.
std::uint32_t NodeGroups::reader_in(std::uint32_t group, std::uint32_t view) {
  const auto reader = std::ranges::find_if(users_[view], [&](std::uint32_t user) { return group_of(user) == group; });
  return reader == users_[view].end() ? view : *reader;
}

/// Why `to` and `from` cannot be joined: `to` needs `from` through a third group or a view, so joining them would
/// create a cycle. Empty if there is no such path.
std::optional<Separation> NodeGroups::obstacle_around(std::uint32_t from, std::uint32_t to) {
  for (const std::uint32_t member : groups_[to]) {
    for (const Value& operand : node(member).operands) {
      if (producer_group(operand) != from) continue;
      const std::uint32_t read = index_of(operand.node);
      if (group_of(read) != from) return obstacle_after(read, member);
      // `to` stores a view that reads `from` at other points, but a kernel has the result of its root only at the
      // current point.
      if (root_[from] != kNone && is_index_view(node(member))) return obstacle_after(member, reader_in(to, member));
    }
  }
  if (const auto reader = reader_around(from, to)) return obstacle(JoinObstacle::kWouldFormCycle, *reader);
  return {};
}

/// The node of a third group that `to` needs, and that reads `from`.
std::optional<std::uint32_t> NodeGroups::reader_around(std::uint32_t from, std::uint32_t to) {
  std::set<std::uint32_t> seen = {from, to};
  std::vector<std::uint32_t> open = {to};
  const std::uint32_t first = groups_[from].front();
  while (!open.empty()) {
    const std::uint32_t group = open.back();
    open.pop_back();
    for (const std::uint32_t member : groups_[group]) {
      for (const Value& operand : node(member).operands) {
        const std::uint32_t producer = producer_group(operand);
        if (producer == from && group != to) return member;
        if (producer == kNone || reach_[producer] < first) continue;  // its nodes are all before those of `from`
        if (seen.insert(producer).second) open.push_back(producer);
      }
    }
  }
  return {};
}

/// Whether a root of `group` reads a value of `from`. A root reads at points of its own, so that value must be in
/// memory.
bool NodeGroups::root_reads(std::uint32_t group, std::uint32_t from) {
  return root_[group] != kNone && std::ranges::any_of(groups_[group], [&](std::uint32_t member) {
           return std::ranges::any_of(node(member).operands,
                                      [&](const Value& operand) { return producer_group(operand) == from; }) &&
                  (member == root_[group] || have_equal_points(member, root_[group]));
         });
}

std::optional<Separation> NodeGroups::obstacle_in_size(std::uint32_t a, std::uint32_t b) const {
  const auto num_nodes = static_cast<std::int64_t>(groups_[a].size() + groups_[b].size());
  if (num_nodes > kMaxRegionNodes) {
    return Separation{.obstacle = JoinObstacle::kTooManyNodes, .found = num_nodes, .limit = kMaxRegionNodes};
  }
  const std::int64_t num_instructions = instructions_[a] + instructions_[b];
  const bool has_root = root_[a] != kNone || root_[b] != kNone;
  const std::int64_t limit = has_root ? kMaxRootInstructions : kMaxMapInstructions;
  if (num_instructions <= limit) return {};
  return Separation{.obstacle = JoinObstacle::kTooManyInstructions, .found = num_instructions, .limit = limit};
}

void NodeGroups::join(std::uint32_t into, std::uint32_t other, std::string reason) {
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
  reach_[into] = std::max(reach_[into], reach_[other]);
  raise_reach(into);
}

/// Raises the reach of all groups that need this one, after later nodes have joined it.
void NodeGroups::raise_reach(std::uint32_t group) {
  const std::uint32_t reach = reach_[group];
  std::vector<std::uint32_t> open = groups_[group];
  while (!open.empty()) {
    const std::uint32_t read = open.back();
    open.pop_back();
    for (const std::uint32_t user : users_[read]) {
      if (user > reach) break;
      const std::uint32_t reader = group_of(user);
      std::uint32_t& earlier = reach_[reader == kNone ? user : reader];
      if (earlier >= reach) continue;
      earlier = reach;
      if (reader == kNone) {
        open.push_back(user);
      } else {
        open.insert(open.end(), groups_[reader].begin(), groups_[reader].end());
      }
    }
  }
}

/// The node whose first result has the shape of the points at which a group stores.
std::uint32_t NodeGroups::points_of(std::uint32_t group) const {
  return root_[group] != kNone ? root_[group] : groups_[group].front();
}

/// Whether all results of an application's nest that elementwise nodes of its group and of `consumer` read are stored
/// at one place, where these nodes are computed too.
bool NodeGroups::has_one_place_with(std::uint32_t producer, std::uint32_t consumer) const {
  const LoopKernel& nest = *own_nest(node(root_[producer]));
  std::optional<std::uint32_t> place;
  for (const std::uint32_t group : {producer, consumer}) {
    for (const std::uint32_t member : groups_[group]) {
      for (const Value& operand : node(member).operands) {
        if (index_of(operand.node) != root_[producer]) continue;
        if (place && !has_one_place(nest, *place, operand.result)) return false;
        place = operand.result;
      }
    }
  }
  return true;
}

/// The obstacle that keeps an elementwise node out of the epilogue of the group that computes its operand.
std::optional<Separation> NodeGroups::obstacle_to_epilogue(std::uint32_t i, Value operand) {
  const std::uint32_t consumer = find(i), producer = group_of(index_of(operand.node));
  const std::uint32_t root = root_[producer];
  if (root != kNone && root_[consumer] != kNone) return obstacle(JoinObstacle::kTwoRoots, root, root_[consumer]);
  if (root != kNone && !has_fusible_epilogue(node(root))) return obstacle(JoinObstacle::kNoEpilogue, root);
  // A fused reduction's term nodes have other points; the epilogue can use only values at the result's points.
  const Shape& shape = node(i).results[0].shape;
  const std::uint32_t points = points_of(producer);
  const bool is_nest = root != kNone && own_nest(node(root)) != nullptr;
  if (is_nest && !has_one_place_with(producer, consumer)) return obstacle(JoinObstacle::kPlaceDiffers, root);
  const bool has_points = is_nest || node(points).results[0].shape == shape;
  if (!has_points || !(graph_.type(operand).shape == shape)) return obstacle(JoinObstacle::kShapeDiffers, points);
  if (auto found = obstacle_in_size(producer, consumer)) return found;
  if (root_reads(producer, consumer)) return obstacle(JoinObstacle::kReadByRoot, root);
  if (root_reads(consumer, producer)) return obstacle(JoinObstacle::kReadByRoot, root_[consumer]);
  if (auto found = obstacle_around(producer, consumer)) return found;
  return obstacle_around(consumer, producer);
}

/// The obstacle that keeps the group of the node's operand from becoming the load of the node's kernel.
std::optional<Separation> NodeGroups::obstacle_to_operand(std::uint32_t i, Value operand) {
  const std::uint32_t producer = group_of(index_of(operand.node));
  const std::uint32_t root = root_[producer];
  const bool is_computed_inside = root != kNone && is_reduction(node(i)) && iota_attributes(node(root)) != nullptr;
  if (root != kNone && !is_computed_inside) return obstacle(JoinObstacle::kRootInOperand, root);
  for (std::uint32_t member : groups_[producer]) {
    if (is_output_[member]) return obstacle(JoinObstacle::kIsStored, member);
    for (std::uint32_t user : users_[member]) {
      if (user != i && group_of(user) != producer) return obstacle(JoinObstacle::kOtherReader, user);
    }
  }
  if (auto found = obstacle_in_size(producer, find(i))) return found;
  return obstacle_around(producer, find(i));
}

/// Whether the node's kernel can compute the operand in its term. A nest must read nothing else of the operand's group
/// from memory.
bool NodeGroups::takes_in_term(std::uint32_t i, std::size_t k) {
  const Node& reader = node(i);
  const LoopKernel* nest = own_nest(reader);
  if (nest == nullptr) return k == 0 && has_fusible_term(reader);
  const std::uint32_t producer = producer_group(reader.operands[k]);
  for (std::size_t other = 0; other < reader.operands.size(); ++other) {
    if (producer_group(reader.operands[other]) == producer && !reads_each_once(*nest, other)) return false;
  }
  return true;
}

/// The obstacle between the node's group and the group that produces its operand `k`.
std::optional<Separation> NodeGroups::find_obstacle(std::uint32_t i, std::size_t k) {
  const Node& reader = node(i);
  const Value operand = reader.operands[k];
  const std::uint32_t read = index_of(operand.node);
  if (is_control(reader)) return obstacle(JoinObstacle::kControl, i);
  const std::uint32_t root = root_[producer_group(operand)];
  if (root != kNone && is_control(node(root))) return obstacle(JoinObstacle::kControl, root);
  const bool takes = takes_in_term(i, k) || (has_fusible_load(reader) && k == 0);
  if (!is_elementwise(reader) && !takes) return obstacle(JoinObstacle::kReadsMemory, i);
  if (group_of(read) == kNone) return obstacle_after(read, i);
  if (is_elementwise(reader)) return obstacle_to_epilogue(i, operand);
  // Fusing only a view saves no work, and the view's elements may be far apart in memory.
  if (has_fusible_load(reader) && is_index_view(node(read))) return obstacle(JoinObstacle::kViewAlone, read);
  return obstacle_to_operand(i, operand);
}

/// Joins the node's group to the groups that produce its operands, or notes the obstacles.
void NodeGroups::consider_operands(std::uint32_t i) {
  for (std::size_t k = 0; k < node(i).operands.size(); ++k) {
    const Value operand = node(i).operands[k];
    const Value stored = stored_value(operand);
    const std::uint32_t producer = group_of(index_of(stored.node));
    if (producer == kNone || producer == find(i)) continue;
    if (std::optional<Separation> found = find_obstacle(i, k)) {
      found->value = stored;
      found->reader = NodeId{i};
      separations_.push_back(*found);
    } else {
      join_operand(i, operand);
    }
  }
}

void NodeGroups::join_operand(std::uint32_t i, Value operand) {
  const std::uint32_t producer = group_of(index_of(operand.node));
  const std::string reader = value_text(graph_, {NodeId{i}, 0}), read = value_text(graph_, operand);
  if (is_elementwise(node(i))) {
    join(producer, find(i), fmt::format("{} at the points of {}: no store and load between them", reader, read));
  } else {
    const std::string_view place = has_fusible_load(node(i)) ? "load" : "term";
    join(find(i), producer, fmt::format("{} in the {} of {}, its only reader", read, place, reader));
  }
}

std::vector<Separation> NodeGroups::take_separations() {
  std::erase_if(separations_, [&](const Separation& each) {
    return group_of(index_of(each.value.node)) == group_of(index_of(each.reader));
  });
  // Keep only the first separation per edge.
  std::map<std::pair<NodeId, Value>, Separation> by_edge;
  for (const Separation& each : separations_) by_edge.try_emplace({each.reader, each.value}, each);
  std::vector<Separation> kept;
  for (const auto& [edge, separation] : by_edge) kept.push_back(separation);
  return kept;
}

}  // namespace millrace
