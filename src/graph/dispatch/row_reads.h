// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "millrace/graph/graph.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {

using Indices = std::vector<AffineIndex>;

/// The rows over which a reduction runs. Indices count the dims of the operand's shape.
struct Rows {
  Shape shape;  // of the operand
  DType dtype = DType::kF32;
  std::set<std::size_t> axes;
  Indices point;          // of the operand
  Indices reduced_point;  // of the result

  /// The bytes that a kernel walks in each pass: a row, or, if the elements of a row are apart, all rows between them.
  /// Short rows of distant elements count as a row. 16-bit floats count as f32. Dims without a useful upper bound count
  /// as 1, unless there is a single row, which no other thread or workgroup would share.
  std::int64_t bytes() const;
};

/// The maximum Rows::bytes(). The passes after the first find that much in the L2 cache.
inline constexpr std::int64_t kMaxRowBytes = 256 << 10;

/// The axes that a reduction, an argmin or an argmax reduces, counted from the front; none for other nodes.
std::set<std::size_t> reduced_axes(const Graph&, const Node&);

/// The rows of a node with reduced_axes(); empty for other nodes, and if a row has one element.
std::optional<Rows> rows_of(const Graph&, const Node&);

/// Finds whether a kernel that walks rows can compute values of its nodes.
class RowReads {
 public:
  /// Keeps references to the graph and the rows.
  RowReads(const Graph& graph, const std::vector<std::uint32_t>& members, const Rows& rows)
      : graph_(graph), rows_(rows), members_(members.begin(), members.end()) {}

  /// Whether the value can be computed at `indices`: nothing in its computation needs a member's value at other points
  /// than those of the row.
  bool can_read(const Value& value, const Indices& indices);

 private:
  bool is_stored_by_member(Value value) const;

  const Graph& graph_;
  const Rows& rows_;
  std::set<std::uint32_t> members_;
  std::map<Value, std::vector<Indices>> seen_;
};

}  // namespace millrace
