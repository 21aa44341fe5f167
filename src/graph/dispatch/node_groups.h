// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/dispatch/row_reads.h"
#include "millrace/graph/dispatch.h"

namespace millrace {

/// The nodes of a graph in groups, each of which becomes a region. Every computing node is in one group. An index view
/// is in a group only if some node needs its elements in memory.
class NodeGroups {
 public:
  static constexpr std::uint32_t kNone = ~0u;

  /// Keeps a reference to the graph. O(nodes * operands), except for searches for cycles.
  explicit NodeGroups(const Graph&);

  /// The node's group; kNone for sources, reshapes, and index views whose elements no node needs in memory.
  std::uint32_t group_of(std::uint32_t node);
  /// The group that stores the memory from which `operand` is read, looking through views and reshapes; kNone for
  /// inputs and constants.
  std::uint32_t producer_group(Value operand) { return group_of(index_of(stored_value(operand).node)); }
  /// The group's nodes, in graph order.
  const std::vector<std::uint32_t>& members(std::uint32_t group) const { return groups_[group]; }
  /// Why the group's nodes are together.
  const std::vector<std::string>& reasons(std::uint32_t group) const { return reasons_[group]; }
  /// Whether the operand of `reader` must be in memory, because the reader, or a node that reads the operand through
  /// the reader if that is a view, is in another group.
  bool is_stored_for(Value operand, std::uint32_t reader);
  /// Returns the edges between groups. Call this only once.
  std::vector<Separation> take_separations();

 private:
  const Node& node(std::uint32_t i) const { return graph_.nodes[NodeId{i}]; }
  std::uint32_t find(std::uint32_t i);
  void prepare();
  Value stored_value(Value operand);

  Separation obstacle_after(std::uint32_t view, std::uint32_t reader) const;
  std::uint32_t reader_in(std::uint32_t group, std::uint32_t view);
  std::optional<Separation> obstacle_around(std::uint32_t from, std::uint32_t to);
  std::optional<std::uint32_t> reader_around(std::uint32_t from, std::uint32_t to);
  bool root_reads(std::uint32_t group, std::uint32_t from);
  std::optional<Separation> obstacle_in_size(std::uint32_t a, std::uint32_t b) const;
  std::uint32_t points_of(std::uint32_t group) const;
  bool takes_in_term(std::uint32_t i, std::size_t k);
  bool has_one_place_with(std::uint32_t producer, std::uint32_t consumer) const;
  std::optional<Separation> obstacle_to_epilogue(std::uint32_t i, Value operand);
  std::optional<Separation> obstacle_to_operand(std::uint32_t i, Value operand);
  std::optional<Separation> find_obstacle(std::uint32_t i, std::size_t k);

  bool have_equal_points(std::uint32_t a, std::uint32_t b) const;
  bool reads(std::uint32_t group, std::uint32_t other);
  bool finds_index_in_long_row(std::uint32_t i) const;
  bool can_join_sibling(std::uint32_t group, std::uint32_t other);
  void join_sibling(std::uint32_t i);

  void join_rows();
  void note_long_rows(std::uint32_t group, std::int64_t bytes);
  bool join_next_row_group(std::uint32_t group);
  std::vector<std::uint32_t> readers_of(std::uint32_t i);
  bool can_join_rows(std::uint32_t group, std::uint32_t other);
  std::uint32_t num_passes(const std::vector<std::uint32_t>& members) const;
  bool can_read_rows(const std::vector<std::uint32_t>& members, const Rows& rows, std::uint32_t root);
  bool has_storage_view(std::uint32_t i) const;
  bool replaces_variable(const std::vector<std::uint32_t>& members);

  void consider_operands(std::uint32_t i);
  void join_operand(std::uint32_t i, Value operand);
  void join(std::uint32_t into, std::uint32_t other, std::string reason);
  void raise_reach(std::uint32_t group);

  const Graph& graph_;
  std::vector<std::set<std::uint32_t>> users_;
  std::vector<std::vector<std::uint32_t>> groups_;  // keyed by representative
  std::vector<std::int64_t> instructions_;          // per group: the instructions of its bodies
  std::vector<std::uint32_t> parent_;
  /// Per group, and per view without a group: the last node in the group itself and in all groups that it needs.
  std::vector<std::uint32_t> reach_;
  std::vector<std::uint32_t>
      root_;  // per group: a node that is neither elementwise nor a view; others are its siblings
  std::vector<std::vector<std::string>> reasons_;
  std::vector<Separation> separations_;  // may include edges inside a group whose parts were joined later
  std::vector<bool> is_output_;          // per node: whether it is an output or a variable's new value
};

}  // namespace millrace
