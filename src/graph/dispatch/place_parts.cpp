// SPDX-License-Identifier: Apache-2.0
#include "graph/dispatch/place_parts.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/size_expr/lost_value.h"
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

/// Where an operand belongs in the result of a concat or pad.
struct Place {
  Value whole;
  std::size_t axis = 0;
  SizeExpr begin = 0;  // along the axis
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
      if (!is_loop_nest(region)) continue;
      for (const Value& output : region.outputs) nests_.emplace(output, is_product(region));
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
  const Node& node_of(Value value) const { return graph_.nodes[value.node]; }

  /// Whether the region is one nest of loops, which stores its results in any layout.
  bool is_loop_nest(const Region& region) const {
    return region.bodies.empty() && std::ranges::all_of(region.nodes, [&](NodeId id) {
             const Node& node = graph_.nodes[id];
             const auto* op = std::get_if<OpNode>(&node.what);
             return op == nullptr || is_index_view(node) || has_trait(op->op, kElementwise) ||
                    has_trait(op->op, kTakesEpilogue);
           });
  }
  bool is_product(const Region& region) const {
    return std::ranges::any_of(region.nodes, [&](NodeId id) {
      const auto* op = std::get_if<OpNode>(&graph_.nodes[id].what);
      return op != nullptr && has_trait(op->op, kContraction);
    });
  }

  void place_operands(Region& region, const Node& node) {
    const Shape& shape = node.results[0].shape;
    const std::int64_t axis = std::get<AxisAttrs>(as_op(node, Op::concat)->attributes).axis;
    Place place{{region.nodes[0], 0}, static_cast<std::size_t>(axis < 0 ? axis + std::int64_t(shape.rank()) : axis)};
    region.inputs.clear();
    for (std::uint32_t i = 0; i < node.operands.size(); ++i) {
      const Value operand = node.operands[i];
      std::string reason = this->place(operand, place);
      place.begin = place.begin + graph_.type(operand).shape[place.axis];
      if (reason.empty()) continue;
      region.copies.push_back({i, std::move(reason)});
      if (std::ranges::find(region.inputs, operand) == region.inputs.end()) region.inputs.push_back(operand);
    }
  }

  void place_padded(Region& region, const Node& node) {
    const auto& attrs = std::get<PadAttrs>(as_op(node, Op::pad)->attributes);
    const Value operand = node.operands[0];
    const std::optional<std::size_t> axis = padded_axis(attrs);
    std::string reason = axis ? place(operand, {{region.nodes[0], 0}, *axis, attrs.low[*axis]})
                              : value_text(graph_, operand) + " is padded along several axes";
    if (!reason.empty()) {
      region.copies.push_back({0, std::move(reason)});
    } else {
      region.inputs.clear();
    }
  }

  /// Says why the operand cannot be stored there; empty if it can, and then it is.
  std::string place(Value operand, const Place& place) {
    const Value storage = dispatch_.storage_of(operand);
    const Shape& shape = graph_.type(place.whole).shape;
    const SizeExpr inner = product(shape, place.axis + 1, shape.rank());
    StoragePart part{place.whole, place.begin * inner};
    const SizeExpr num_rows = product(shape, 0, place.axis), pitch = shape[place.axis] * inner;
    SizeExpr length = graph_.type(operand).shape.num_elements();
    std::string reason = find_obstacle(operand);
    if (reason.empty() && !num_rows.is(1)) {
      const SizeExpr row = graph_.type(operand).shape[place.axis] * inner;
      reason = find_row_obstacle(operand, num_rows, row);
      if (reason.empty()) part.rows = {*num_outer_dims(storage, num_rows, row), pitch};
      length = (num_rows - 1) * pitch + row;
    }
    if (!reason.empty()) return reason;
    const SizeExpr after = shape.num_elements() - part.offset_elements - length;
    if (after.lower_bound() < 0 || has_lost_value(after)) {
      return fmt::format("the place of {} is not known to be inside the result", value_text(graph_, operand));
    }
    wholes_.insert(place.whole);
    dispatch_.parts.emplace(storage, std::move(part));
    return "";
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
      return fmt::format("{} is in the memory of {} already", name, value_text(graph_, known->second.whole));
    }
    return "";
  }

  /// Why the operand cannot be stored in rows with gaps between them.
  std::string find_row_obstacle(Value operand, const SizeExpr& num_rows, const SizeExpr& row) const {
    /// Kernels of products store vectors along a row.
    constexpr std::int64_t kLeastOfProduct = 16;
    const Value storage = dispatch_.storage_of(operand);
    const std::string name = value_text(graph_, operand);
    if (num_uses_.at(storage) > 1) return fmt::format("{} is read elsewhere, where its rows are side by side", name);
    if (wholes_.contains(storage)) return fmt::format("{} is in the memory of its parts", name);
    const auto nest = nests_.find(storage);
    if (nest == nests_.end()) {
      return fmt::format("{} stores {} with its rows side by side", kind_name(node_of(storage)), name);
    }
    if (nest->second && row.lower_bound() < kLeastOfProduct) {
      return fmt::format("rows of {} are short for a product to store them apart", name);
    }
    if (num_rows.lower_bound() < 1) {
      return fmt::format("{} may have no rows; say so of its dims, if they have: at_least(1)", name);
    }
    if (!num_outer_dims(storage, num_rows, row)) return fmt::format("no dims of {} are the rows of the result", name);
    return "";
  }

  /// How many of the stored value's dims, from the outermost on, have one index per row of the result.
  std::optional<std::size_t> num_outer_dims(Value storage, const SizeExpr& num_rows, const SizeExpr& row) const {
    const Shape& shape = graph_.type(storage).shape;
    for (std::size_t d = 0; d <= shape.rank(); ++d) {
      if (product(shape, 0, d) == num_rows && product(shape, d, shape.rank()) == row) return d;
    }
    return {};
  }

  DispatchGraph& dispatch_;
  const Graph& graph_;
  std::set<Value> outputs_;                // the values that own their storage
  std::map<Value, std::size_t> num_uses_;  // by storage
  std::map<Value, bool> nests_;            // what loop nests store: whether they are products
  std::set<Value> wholes_;                 // of which some operand is in place
};

}  // namespace

void place_parts(DispatchGraph& dispatch) { PartPlacer(dispatch).run(); }

}  // namespace millrace
