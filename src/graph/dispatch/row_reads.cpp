// SPDX-License-Identifier: Apache-2.0
// Follows the reads of a kernel that walks rows, through views, to the results of reductions.
#include "graph/dispatch/row_reads.h"

#include <algorithm>

#include "graph/dispatch/views.h"
#include "jit/ir/affine.h"
#include "millrace/base/saturating.h"

namespace millrace {
namespace {

/// The elements of a row that stay in cache wherever they are.
constexpr std::int64_t kShortRow = 64;
/// A symbolic extent with a higher bound counts as short: its bound says nothing about the usual size.
constexpr std::int64_t kVagueBound = std::int64_t{1} << 30;

}  // namespace

std::int64_t Rows::bytes() const {
  bool is_single_row = true;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) is_single_row &= axes.contains(axis) || shape[axis].is(1);
  const auto bounded = [&](std::size_t axis) {
    const std::int64_t extent = shape[axis].upper_bound();
    return shape[axis].is_constant() || is_single_row || extent < kVagueBound ? extent : 1;
  };
  std::int64_t row = 1, walked = 1;
  for (const std::size_t axis : axes) row = saturating::multiply(row, bounded(axis));
  for (std::size_t axis = *axes.begin(); axis < shape.rank(); ++axis) {
    walked = saturating::multiply(walked, bounded(axis));
  }
  const std::size_t element = std::max(size_bytes(dtype), sizeof(float));
  return saturating::multiply(row <= kShortRow ? row : walked, static_cast<std::int64_t>(element));
}

std::set<std::size_t> reduced_axes(const Graph& graph, const Node& node) {
  std::set<std::size_t> axes;
  const auto* op = std::get_if<OpNode>(&node.what);
  if (op == nullptr) return axes;
  const auto insert = [&](std::int64_t axis) {
    const auto rank = static_cast<std::int64_t>(graph.type(node.operands[0]).shape.rank());
    axes.insert(static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
  };
  if (const auto* of_values = std::get_if<ReduceAttrs>(&op->attributes)) {
    std::ranges::for_each(of_values->axes, insert);
  } else if (const auto* of_index = std::get_if<ArgAttrs>(&op->attributes)) {
    insert(of_index->axis);
  }
  return axes;
}

std::optional<Rows> rows_of(const Graph& graph, const Node& node) {
  std::set<std::size_t> axes = reduced_axes(graph, node);
  if (axes.empty()) return std::nullopt;
  const TensorType& type = graph.type(node.operands[0]);
  Rows rows{type.shape, type.dtype, std::move(axes), {}, {}};
  if (rows.shape == node.results[0].shape) return std::nullopt;
  const std::size_t rank = rows.shape.rank();
  const bool keeps_dims = node.results[0].shape.rank() == rank;
  for (std::size_t d = 0; d < rank; ++d) {
    rows.point.push_back(dim_index(rank, d));
    if (!rows.axes.contains(d)) rows.reduced_point.push_back(dim_index(rank, d));
    if (rows.axes.contains(d) && keeps_dims) rows.reduced_point.push_back(constant_index(rank, 0));
  }
  return rows;
}

/// Whether the elements of a reshape, which are read from memory, are a member's.
bool RowReads::is_stored_by_member(Value value) const {
  while (is_storage_view(graph_.nodes[value.node]) || is_index_view(graph_.nodes[value.node])) {
    if (members_.contains(index_of(value.node))) return true;
    value = graph_.nodes[value.node].operands[0];
  }
  return members_.contains(index_of(value.node));
}

bool RowReads::can_read(const Value& value, const Indices& indices) {
  const Node& node = graph_.nodes[value.node];
  const bool is_view = is_index_view(node);
  if (is_storage_view(node)) return !is_stored_by_member(value);
  if (!is_view && !members_.contains(index_of(value.node))) return true;
  const bool is_of_row = are_equal(indices, rows_.reduced_point, rows_.shape.dims());
  if (rows_of(graph_, node)) return is_of_row;
  // At other points of a row, an elementwise node would be computed a second time. Once per row is cheap.
  const auto is_fixed = [&](const AffineIndex& index) {
    return std::ranges::all_of(
        rows_.axes, [&](std::size_t axis) { return index.coefficients[axis].is(0) || rows_.shape[axis].is(1); });
  };
  const bool is_per_row = std::ranges::all_of(indices, is_fixed);
  if (!is_view && !is_per_row && !are_equal(indices, rows_.point, rows_.shape.dims())) return false;
  std::vector<Indices>& seen = seen_[value];
  if (std::ranges::find(seen, indices) != seen.end()) return true;
  seen.push_back(indices);
  if (is_view) return can_read(node.operands[0], look_through(graph_, node, indices));
  return std::ranges::all_of(node.operands, [&](const Value& operand) { return can_read(operand, indices); });
}

}  // namespace millrace
