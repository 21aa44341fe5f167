// SPDX-License-Identifier: Apache-2.0
// Joins reductions that read one value over the same axes, such as the sum and the maximum of x, so that one kernel
// reads the value once for all of them. Joins gathers from one value, such as those of both neighbours in a linear
// resize, so that a node that reads both joins their kernel.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "graph/dispatch/node_groups.h"
#include "graph/dispatch/row_reads.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

/// The maximum number of reductions in a region. With four accumulators a loop still has registers for two vectors of
/// each on AVX2, and one read already serves four reductions.
constexpr std::size_t kMaxSiblings = 4;
/// The maximum number of readers of a value among which a sibling is searched, so that forming stays linear in the
/// readers.
constexpr std::size_t kMaxSearched = 16;

bool is_gather(const Node& node) {
  const auto* op = std::get_if<OpNode>(&node.what);
  return op != nullptr && op->op == Op::gather;
}

}  // namespace

/// Whether two reductions or two gathers have the same points: equal operand shapes, axes and result shapes.
bool NodeGroups::have_equal_points(std::uint32_t a, std::uint32_t b) const {
  if (is_gather(node(a)) && is_gather(node(b))) {
    return node(a).operands[0] == node(b).operands[0] && node(a).results[0].shape == node(b).results[0].shape;
  }
  const std::set<std::size_t> axes = reduced_axes(graph_, node(a));
  return !axes.empty() && axes == reduced_axes(graph_, node(b)) &&
         graph_.type(node(a).operands[0]).shape == graph_.type(node(b).operands[0]).shape &&
         node(a).results[0].shape == node(b).results[0].shape;
}

/// Whether the group reads results of `other`, directly or through views.
bool NodeGroups::reads(std::uint32_t group, std::uint32_t other) {
  return std::ranges::any_of(groups_[group], [&](std::uint32_t member) {
    return std::ranges::any_of(node(member).operands,
                               [&](const Value& operand) { return producer_group(operand) == other; });
  });
}

/// Whether the node finds an index in a row so long that kernels of its own, which share the row, are faster.
bool NodeGroups::finds_index_in_long_row(std::uint32_t i) const {
  const auto* op = std::get_if<OpNode>(&node(i).what);
  if (op == nullptr || !std::holds_alternative<ArgAttrs>(op->attributes)) return false;
  const std::optional<Rows> rows = rows_of(graph_, node(i));
  return rows && rows->bytes() > kMaxRowBytes;
}

bool NodeGroups::can_join_sibling(std::uint32_t group, std::uint32_t other) {
  if (other == kNone || other == group || root_[other] == kNone) return false;
  if (!have_equal_points(root_[group], root_[other])) return false;
  if (finds_index_in_long_row(root_[group]) || finds_index_in_long_row(root_[other])) return false;
  const auto is_root = [&](std::uint32_t member) { return have_equal_points(root_[group], member); };
  const auto num_roots = std::ranges::count_if(groups_[other], is_root);
  return static_cast<std::size_t>(num_roots) < kMaxSiblings && !obstacle_in_size(group, other) &&
         !reads(group, other) && !reads(other, group) && !obstacle_around(other, group) &&
         !obstacle_around(group, other);
}

/// Joins the group of reduction or gather `i` to an earlier one that reads the same value at the same points.
void NodeGroups::join_sibling(std::uint32_t i) {
  if (reduced_axes(graph_, node(i)).empty() && !is_gather(node(i))) return;
  const Shape& shape = graph_.type(node(i).operands[0]).shape;
  // The term and the epilogue of a reduction could read the same values.
  if (shape == node(i).results[0].shape) return;
  const std::uint32_t group = find(i);
  for (const std::uint32_t member : groups_[group]) {
    for (const Value& operand : node(member).operands) {
      if (!(graph_.type(operand).shape == shape) || group_of(index_of(operand.node)) == group) continue;
      const std::set<std::uint32_t>& users = users_[index_of(operand.node)];
      std::size_t searched = 0;
      for (auto user = users.lower_bound(member); user != users.begin() && searched < kMaxSearched; ++searched) {
        const std::uint32_t other = group_of(*--user);
        if (!can_join_sibling(group, other)) continue;
        const std::string read = value_text(graph_, operand), sibling = value_text(graph_, {NodeId{root_[other]}, 0});
        const std::string how = is_gather(node(i)) ? "at the same points" : "over the same axes";
        return join(other, group,
                    fmt::format("{} and {} {}: one kernel reads {} for both", value_text(graph_, {NodeId{i}, 0}),
                                sibling, how, read));
      }
    }
  }
}

}  // namespace millrace
