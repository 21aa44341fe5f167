// SPDX-License-Identifier: Apache-2.0
// Decides which operands of concats and pads are computed directly in the result, so that no copy remains.
#include "graph/dispatch/place_parts.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/size_expr/is_saturated.h"
#include "base/size_expr/never_negative.h"
#include "graph/dispatch/nest_reads.h"
#include "graph/dispatch/node_instructions.h"
#include "graph/dispatch/views.h"
#include "millrace/graph/text.h"
#include "millrace/ops/op_def.h"
#include "ops/pad.h"

namespace millrace {
namespace {

const OpNode* as_op(const Node& node, Op op) {
  const auto* found = std::get_if<OpNode>(&node.what);
  return found != nullptr && found->op == op ? found : nullptr;
}

SizeExpr product(const Shape& shape, std::size_t first, std::size_t end) {
  SizeExpr result = 1;
  for (std::size_t d = first; d < end; ++d) result = result * shape[d];
  return result;
}

/// The place of an operand in the result of a concat or pad.
struct Place {
  Value whole;
  std::vector<SizeExpr> begins;  // its offset along each axis
  bool has_border = false;       // whether `whole` is a pad's result; other kernels then store its border
};

class PartPlacer {
 public:
  explicit PartPlacer(DispatchGraph& dispatch) : dispatch_(dispatch), graph_(dispatch.graph) {
    for (const GraphOutput& output : graph_.outputs) outputs_.insert(dispatch.storage_of(output.value));
    for (const Value& value : required_values(graph_)) ++num_uses_[dispatch.storage_of(value)];
    for (const Node& node : graph_.nodes) {
      if (is_storage_view(node)) continue;
      for (const Value& operand : node.operands) ++num_uses_[dispatch.storage_of(operand)];
    }
    for (const Region& region : dispatch.regions) {
      std::optional<Nest> nest = nest_of(region);
      for (const Value& output : region.outputs) {
        if (!nest) continue;
        nest->walks_rows = nest->rows && *nest->rows == graph_.type(output).shape;
        nests_.emplace(output, *nest);
      }
    }
  }

  void run() {
    IdVector<RegionId, Region> kept;
    for (Region& region : dispatch_.regions) {
      const Node* const node = region.nodes.size() == 1 ? &graph_.nodes[region.nodes[0]] : nullptr;
      const bool is_concat = node != nullptr && as_op(*node, Op::concat) != nullptr;
      if (is_concat) place_operands(region, *node);
      if (node != nullptr && as_op(*node, Op::pad) != nullptr) place_padded(region, *node);
      if (!is_concat || !region.copies.empty()) kept.push_back(std::move(region));
    }
    dispatch_.regions = std::move(kept);
  }

 private:
  /// A loop nest, which can store its value in any layout.
  struct Nest {
    bool is_product = false, is_map = true;
    std::int64_t instructions = 0;   // of its elementwise nodes
    std::optional<Shape> rows = {};  // of the operand of its reductions
    bool walks_rows = false;         // whether it stores this value in a pass over rows
  };

  const Node& node_of(Value value) const { return graph_.nodes[value.node]; }

  std::optional<Nest> nest_of(const Region& region) const {
    if (!region.bodies.empty()) return {};
    Nest nest;
    for (const NodeId id : region.nodes) {
      const Node& node = graph_.nodes[id];
      nest.instructions += body_instructions(graph_, node);
      if (is_elementwise(node) || is_index_view(node)) continue;
      if (own_nest(node) != nullptr) {
        nest.is_map = false;
        continue;
      }
      const auto& op = std::get<OpNode>(node.what);
      if (!has_trait(op.op, kFusibleEpilogue)) return {};
      nest.is_map = !has_trait(op.op, kReduction) && !has_trait(op.op, kContraction);
      nest.is_product = has_trait(op.op, kContraction);
      if (has_trait(op.op, kReduction)) nest.rows = graph_.type(node.operands[0]).shape;
    }
    return nest;
  }

  void place_operands(Region& region, const Node& node) {
    const Shape& shape = node.results[0].shape;
    const std::int64_t axis = std::get<AxisAttrs>(as_op(node, Op::concat)->attributes).axis;
    const auto d = static_cast<std::size_t>(axis < 0 ? axis + std::int64_t(shape.rank()) : axis);
    Place place{{region.nodes[0], 0}, std::vector<SizeExpr>(shape.rank(), 0)};
    region.inputs.clear();
    for (std::uint32_t i = 0; i < node.operands.size(); ++i) {
      const Value operand = node.operands[i];
      std::string reason = place_operand(operand, place);
      place.begins[d] = place.begins[d] + graph_.type(operand).shape[d];
      if (reason.empty()) continue;
      region.copies.push_back({i, std::move(reason)});
      if (std::ranges::find(region.inputs, operand) == region.inputs.end()) region.inputs.push_back(operand);
    }
  }

  void place_padded(Region& region, const Node& node) {
    const auto& attrs = std::get<PadAttrs>(as_op(node, Op::pad)->attributes);
    const Value operand = node.operands[0];
    const bool adds_some = graph_.type(operand).shape != node.results[0].shape;
    std::string reason = adds_some ? place_operand(operand, {{region.nodes[0], 0}, attrs.low, true})
                                   : "nothing is padded to " + value_text(graph_, operand);
    if (!reason.empty()) {
      region.copies.push_back({0, std::move(reason)});
    } else {
      region.inputs.clear();
    }
  }

  /// Gives the operand its place in the result. Returns an empty text or, if the operand cannot be stored there, the
  /// reason.
  std::string place_operand(Value operand, const Place& place) {
    std::string reason = find_obstacle(operand);
    if (!reason.empty()) return reason;
    const Shape &shape = graph_.type(operand).shape, &whole = graph_.type(place.whole).shape;
    const std::vector<SizeExpr> strides = Layout::row_major(whole).strides;
    StoragePart part{place.whole, 0};
    SizeExpr length = 1;  // the span from the first element to the last
    for (std::size_t d = shape.rank(); d-- > 0;) {
      part.offset_elements = place.begins[d] * strides[d] + part.offset_elements;
      length = (shape[d] - 1) * strides[d] + length;
    }
    reason = find_rows(operand, place, strides, part.rows);
    if (!reason.empty()) return reason;
    const SizeExpr after = whole.num_elements() - part.offset_elements - length;
    if (!is_never_negative(after) || is_saturated(after)) {
      return fmt::format("the place of {} is not known to be inside the result", value_text(graph_, operand));
    }
    wholes_.insert(place.whole);
    dispatch_.parts.emplace(dispatch_.storage_of(operand), std::move(part));
    return "";
  }

  /// Describes how the operand's elements lie at `place`: appends one entry to `rows` per level of nested rows, the
  /// outermost first, or nothing if the elements are adjacent there. Returns an empty text or, if the operand cannot be
  /// stored in rows, the reason.
  std::string find_rows(Value operand, const Place& place, const std::vector<SizeExpr>& strides,
                        std::vector<StoragePart::Rows>& rows) const {
    const Shape &shape = graph_.type(operand).shape, &whole = graph_.type(place.whole).shape;
    std::size_t first = 0, num_outer_dims = 0;
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      if (shape[d] == whole[d] || product(shape, first, d).is(1)) continue;
      const std::optional<std::size_t> outer = find_outer_dims(dispatch_.storage_of(operand), num_outer_dims,
                                                               product(shape, 0, d), product(shape, d, shape.rank()));
      if (!outer) return fmt::format("no outer dims of {} match the rows of the result", value_text(graph_, operand));
      rows.push_back({*outer, whole[d] * strides[d]});
      num_outer_dims = *outer;
      first = d;
    }
    if (rows.empty()) return "";
    const SizeExpr num_rows = product(shape, 0, first), row = product(shape, first, shape.rank());
    std::string reason = find_row_obstacle(operand, num_rows, row, place.has_border);
    if (reason.empty() && !are_known_to_fit(shape, place, whole, strides)) {
      reason = fmt::format("the rows of {} are not known to be apart", value_text(graph_, operand));
    }
    return reason;
  }

  /// Whether the sizes show that the operand's rows, and the parts before and after them, fit into the distance from
  /// row to row. If this is unknown, two kernels may write the same bytes.
  static bool are_known_to_fit(const Shape& shape, const Place& place, const Shape& whole,
                               const std::vector<SizeExpr>& strides) {
    SizeExpr row = 1;  // the span from a row's first element to its last
    for (std::size_t d = shape.rank(); d-- > 0;) {
      const SizeExpr &begin = place.begins[d], behind = whole[d] - shape[d] - begin;
      row = (shape[d] - 1) * strides[d] + row;
      for (const SizeExpr& length : {begin * strides[d], behind * strides[d], shape[d] * strides[d], row}) {
        if ((whole[d] * strides[d] - length).lower_bound() < 0 || length.lower_bound() < 0) return false;
      }
    }
    return true;
  }

  std::string find_obstacle(Value operand) const {
    const Value storage = dispatch_.storage_of(operand);
    const std::string name = value_text(graph_, operand);
    const Node& producer = node_of(storage);
    if (std::holds_alternative<InputNode>(producer.what)) return name + " is an input";
    if (std::holds_alternative<ConstantNode>(producer.what)) return name + " is a constant";
    if (std::holds_alternative<VariableNode>(producer.what)) return name + " is a variable";
    if (outputs_.contains(storage)) return name + " is an output, too";
    if (const auto known = dispatch_.parts.find(storage); known != dispatch_.parts.end()) {
      return fmt::format("{} is already in the memory of {}", name, value_text(graph_, known->second.whole));
    }
    return "";
  }

  /// Why the operand cannot be stored in rows with gaps between them; empty if it can.
  std::string find_row_obstacle(Value operand, const SizeExpr& num_rows, const SizeExpr& row, bool has_border) const {
    const Value storage = dispatch_.storage_of(operand);
    const std::string name = value_text(graph_, operand);
    if (num_uses_.at(storage) > 1) return fmt::format("{} is read elsewhere, where its rows are side by side", name);
    if (wholes_.contains(storage)) return fmt::format("operands of {} are in its memory, side by side", name);
    const auto nest = nests_.find(storage);
    if (nest == nests_.end()) {
      return fmt::format("{} stores {} with its rows side by side", kind_name(node_of(storage)), name);
    }
    if (is_slower_in_rows(nest->second, row, graph_.type(storage).dtype, has_border)) {
      return fmt::format("rows of {} are short, and computing them side by side is faster", name);
    }
    if (num_rows.lower_bound() < 1) {
      return fmt::format("{} may have no rows; if its dims are never 0, promise it: at_least(1)", name);
    }
    return "";
  }

  /// Whether storing in rows with gaps is slower than computing all elements side by side and then copying them.
  /// Vectors run along a row, and the elements that do not fill a vector are computed one by one. If these are most of
  /// the work, the copy wins: with it, exp takes a third of the time for 2 of 4 columns, and half for 17 of 32. The
  /// copy also wins if every cache line contains a border: 2048x3x3 took 14.9 us in place, 6.7 us copied (commit
  /// 346779f9).
  static bool is_slower_in_rows(const Nest& nest, const SizeExpr& row, DType dtype, bool has_border) {
    constexpr std::int64_t kVector = 16;     // elements of f32 in the widest vector of x86
    constexpr std::int64_t kLong = 1024;     // elements; longer rows leave few elements after the last full vector
    constexpr std::int64_t kLineBytes = 64;  // of a cache line
    // A map of up to this many instructions, such as relu, is faster in place for rows of any length (commit 36ab5188).
    // For 16-bit floats the count includes widening and rounding.
    constexpr std::int64_t kCheap = 8, kCheapF16 = 70, kCheapBF16 = 30;
    if (has_border && row.upper_bound() < kLineBytes / static_cast<std::int64_t>(size_bytes(dtype))) return true;
    if (nest.walks_rows) return false;  // it computes row by row anyway
    if (nest.is_product) return row.lower_bound() < kVector;
    const std::int64_t max_cheap = dtype == DType::kF16 ? kCheapF16 : dtype == DType::kBF16 ? kCheapBF16 : kCheap;
    const bool is_cheap = nest.is_map && nest.instructions <= max_cheap;
    const bool is_one = !nest.is_map && row.is(1);  // a reduction to one element per row
    return !is_cheap && !is_one && row.known_multiple() % kVector != 0 && row.lower_bound() < kLong;
  }

  /// The number of the stored value's outer dims that index the rows: the smallest d >= `min_dims` for which the first
  /// d dims have `num_rows` elements, and the other dims have the `row` elements of one row. The first `min_dims` dims
  /// index the outer rows, which contain these rows.
  std::optional<std::size_t> find_outer_dims(Value storage, std::size_t min_dims, const SizeExpr& num_rows,
                                             const SizeExpr& row) const {
    const Shape& shape = graph_.type(storage).shape;
    for (std::size_t d = min_dims; d <= shape.rank(); ++d) {
      if (product(shape, 0, d) == num_rows && product(shape, d, shape.rank()) == row) return d;
    }
    return {};
  }

  DispatchGraph& dispatch_;
  const Graph& graph_;
  std::set<Value> outputs_;                // keyed by storage
  std::map<Value, std::size_t> num_uses_;  // keyed by storage
  std::map<Value, Nest> nests_;            // keyed by the value that the nest stores
  std::set<Value> wholes_;                 // results whose memory holds operands
};

}  // namespace

void place_parts(DispatchGraph& dispatch) { PartPlacer(dispatch).run(); }

}  // namespace millrace
