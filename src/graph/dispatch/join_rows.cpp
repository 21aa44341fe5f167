// SPDX-License-Identifier: Apache-2.0
// Joins regions that walk the same rows: reductions over the same axes, the elementwise nodes that read their results
// again at every point of a row, and those before them. Softmax and the norms become one kernel with several passes,
// which reads its operand once and writes its result once.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "graph/dispatch/node_groups.h"
#include "graph/dispatch/row_reads.h"
#include "graph/dispatch/views.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

/// The maximum number of passes. A softmax and a norm have three. Each pass may compute again what earlier passes
/// computed, so that many passes would make long kernels.
constexpr std::uint32_t kMaxPasses = 6;

}  // namespace

/// Joins other groups to the group of each reduction, until no more fit.
void NodeGroups::join_rows() {
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
    const std::uint32_t group = group_of(i);
    if (group == kNone || root_[group] != i) continue;
    const std::optional<Rows> rows = rows_of(graph_, node(i));
    if (!rows) continue;
    if (rows->bytes() > kMaxRowBytes) {
      note_long_rows(group, rows->bytes());
      continue;
    }
    while (join_next_row_group(group)) {
    }
  }
}

/// Notes the length of the rows as what keeps the group apart from those that read its reductions in the same row.
void NodeGroups::note_long_rows(std::uint32_t group, std::int64_t bytes) {
  for (Separation& each : separations_) {
    const bool reads_broadcast =
        each.obstacle == JoinObstacle::kAfterView && group_of(index_of(each.value.node)) == group;
    if (!reads_broadcast) continue;
    each = {each.value, each.reader, JoinObstacle::kRowTooLong, NodeId{root_[group]}, {}, bytes, kMaxRowBytes};
  }
}

/// Joins one reader or producer of the group to it. Returns false if none fits.
bool NodeGroups::join_next_row_group(std::uint32_t group) {
  const auto try_join = [&](std::uint32_t other, std::uint32_t reader, const Value& read) {
    if (!can_join_rows(group, other)) return false;
    join(group, other,
         fmt::format("{} reads {} in the same rows: one kernel with several passes",
                     value_text(graph_, {NodeId{reader}, 0}), value_text(graph_, read)));
    return true;
  };
  for (const std::uint32_t member : groups_[group]) {
    for (const std::uint32_t reader : readers_of(member)) {
      if (try_join(group_of(reader), reader, {NodeId{member}, 0})) return true;
    }
  }
  for (const std::uint32_t member : groups_[group]) {
    for (const Value& operand : node(member).operands) {
      const Value stored = stored_value(operand);
      if (try_join(group_of(index_of(stored.node)), member, stored)) return true;
    }
  }
  return false;
}

/// The nodes in groups that read a node's results, directly or through views that are in no group.
std::vector<std::uint32_t> NodeGroups::readers_of(std::uint32_t i) {
  std::vector<std::uint32_t> readers, open = {i};
  while (!open.empty()) {
    const std::uint32_t read = open.back();
    open.pop_back();
    for (const std::uint32_t user : users_[read]) {
      if (group_of(user) != kNone) {
        readers.push_back(user);
      } else if (is_index_view(node(user))) {
        open.push_back(user);
      }
    }
  }
  return readers;
}

bool NodeGroups::is_stored_for(Value operand, std::uint32_t reader) {
  const std::uint32_t producer = group_of(index_of(operand.node));
  if (is_storage_view(node(reader))) return !users_[reader].empty() || is_output_[reader];
  if (group_of(reader) != kNone) return group_of(reader) != producer;
  if (!is_index_view(node(reader))) return false;
  return std::ranges::any_of(readers_of(reader), [&](std::uint32_t each) { return group_of(each) != producer; });
}

/// Whether two groups can be one kernel with several passes. The first has a reduction.
bool NodeGroups::can_join_rows(std::uint32_t group, std::uint32_t other) {
  if (other == kNone || other == group) return false;
  const std::uint32_t root = root_[group];
  if (root_[other] != kNone && !have_equal_points(root, root_[other])) return false;
  const Rows rows = *rows_of(graph_, node(root));
  const auto is_in_rows = [&](std::uint32_t member) {
    const Shape& shape = node(member).results[0].shape;
    return is_index_view(node(member)) || shape == rows.shape || shape == node(root).results[0].shape;
  };
  if (!std::ranges::all_of(groups_[other], is_in_rows)) return false;
  if (obstacle_in_size(group, other) || reader_around(group, other) || reader_around(other, group)) return false;
  std::vector<std::uint32_t> members = groups_[group];
  members.insert(members.end(), groups_[other].begin(), groups_[other].end());
  std::ranges::sort(members);
  return !replaces_variable(members) && num_passes(members) <= kMaxPasses && can_read_rows(members, rows, root);
}

/// The number of passes of a kernel with these nodes, which are in graph order.
std::uint32_t NodeGroups::num_passes(const std::vector<std::uint32_t>& members) const {
  std::map<std::uint32_t, std::uint32_t> ready;  // by node: the first pass that can read its result
  const std::function<std::uint32_t(const Value&)> pass_of = [&](const Value& read) -> std::uint32_t {
    if (const auto found = ready.find(index_of(read.node)); found != ready.end()) return found->second;
    const Node& view = graph_.nodes[read.node];
    return is_index_view(view) ? pass_of(view.operands[0]) : 0;
  };
  std::uint32_t count = 0;
  for (const std::uint32_t member : members) {
    std::uint32_t pass = 0;
    for (const Value& operand : node(member).operands) pass = std::max(pass, pass_of(operand));
    ready[member] = pass + (rows_of(graph_, node(member)) ? 1 : 0);
    count = std::max(count, pass + 1);
  }
  return count;
}

/// Whether the nodes compute the new value of a variable from the old one. A map can store it in place; a kernel with
/// several passes would need a copy.
bool NodeGroups::replaces_variable(const std::vector<std::uint32_t>& members) {
  const auto is_member = [&](std::uint32_t i) { return std::ranges::binary_search(members, i); };
  return std::ranges::any_of(graph_.updates, [&](const GraphUpdate& update) {
    return is_member(index_of(stored_value(update.value).node)) &&
           std::ranges::any_of(readers_of(index_of(update.variable)), is_member);
  });
}

/// Whether a kernel with these nodes needs the result of a reduction only in the reduction's own row, and stores only
/// values that have an element for each row or for each point.
bool NodeGroups::can_read_rows(const std::vector<std::uint32_t>& members, const Rows& rows, std::uint32_t root) {
  RowReads reads(graph_, members, rows);
  const Shape& reduced = node(root).results[0].shape;
  const std::set<std::uint32_t> inside(members.begin(), members.end());
  for (const std::uint32_t member : members) {
    if (rows_of(graph_, node(member)) && !reads.can_read(node(member).operands[0], rows.point)) return false;
    const std::vector<std::uint32_t> readers = readers_of(member);
    const bool is_stored = is_output_[member] || has_storage_view(member) ||
                           std::ranges::any_of(readers, [&](std::uint32_t reader) { return !inside.contains(reader); });
    if (!is_stored) continue;
    const Shape& shape = node(member).results[0].shape;
    if (shape != rows.shape && shape != reduced) return false;
    // A stored view has the bits of its operand. Computed a second time, a NaN could have another sign.
    if (is_index_view(node(member)) && inside.contains(index_of(stored_value(node(member).operands[0]).node)))
      return false;
    if (!reads.can_read({NodeId{member}, 0}, shape == reduced ? rows.reduced_point : rows.point)) return false;
  }
  return true;
}

/// Whether a reshape reads the node, which must then be stored.
bool NodeGroups::has_storage_view(std::uint32_t i) const {
  return std::ranges::any_of(users_[i], [&](std::uint32_t user) { return is_storage_view(node(user)); });
}

}  // namespace millrace
