// SPDX-License-Identifier: Apache-2.0
#include "graph/dispatch/place_parts.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/size_expr/lost_value.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

const OpNode* as_concat(const Node& node) {
  const auto* op = std::get_if<OpNode>(&node.what);
  return op != nullptr && op->op == Op::concat ? op : nullptr;
}

class PartPlacer {
 public:
  explicit PartPlacer(DispatchGraph& dispatch) : dispatch_(dispatch), graph_(dispatch.graph) {
    for (const GraphOutput& output : graph_.outputs) outputs_.insert(dispatch.storage_of(output.value));
  }

  void run() {
    IdVector<RegionId, Region> kept;
    for (Region& region : dispatch_.regions) {
      const bool is_concat = region.nodes.size() == 1 && as_concat(graph_.nodes[region.nodes[0]]) != nullptr;
      if (is_concat) place_operands(region);
      if (!is_concat || !region.copies.empty()) kept.push_back(std::move(region));
    }
    dispatch_.regions = std::move(kept);
  }

 private:
  void place_operands(Region& region) {
    const Value whole{region.nodes[0], 0};
    const Node& node = graph_.nodes[whole.node];
    const Shape& shape = node.results[0].shape;
    const std::int64_t given = std::get<AxisAttrs>(as_concat(node)->attributes).axis;
    const auto axis = static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(shape.rank()) : given);
    SizeExpr inner = 1;
    for (std::size_t d = axis + 1; d < shape.rank(); ++d) inner = inner * shape[d];
    SizeExpr begin = 0;  // along the axis
    region.inputs.clear();
    for (std::uint32_t i = 0; i < node.operands.size(); ++i) {
      const Value operand = node.operands[i];
      const StoragePart part{whole, begin * inner};
      begin = begin + graph_.type(operand).shape[axis];
      std::string reason = find_obstacle(operand, part, axis);
      if (reason.empty()) {
        dispatch_.parts.emplace(dispatch_.storage_of(operand), part);
        continue;
      }
      region.copies.push_back({i, std::move(reason)});
      if (std::ranges::find(region.inputs, operand) == region.inputs.end()) region.inputs.push_back(operand);
    }
  }

  /// Why the operand cannot be stored there; empty if it can.
  std::string find_obstacle(Value operand, const StoragePart& part, std::size_t axis) const {
    const Value storage = dispatch_.storage_of(operand);
    const std::string name = value_text(graph_, operand);
    const Node& producer = graph_.nodes[storage.node];
    if (std::holds_alternative<InputNode>(producer.what)) return name + " is an input";
    if (std::holds_alternative<ConstantNode>(producer.what)) return name + " is a constant";
    if (std::holds_alternative<VariableNode>(producer.what)) return name + " is a variable";
    if (outputs_.contains(storage)) return name + " is an output, too";
    if (const auto known = dispatch_.parts.find(storage); known != dispatch_.parts.end()) {
      return fmt::format("{} is in the memory of {} already", name, value_text(graph_, known->second.whole));
    }
    const Shape &shape = graph_.type(part.whole).shape, &own = graph_.type(operand).shape;
    for (std::size_t d = 0; d < axis; ++d) {
      if (!shape[d].is(1)) return fmt::format("rows of {} are apart in the result", name);
    }
    const SizeExpr after = shape.num_elements() - part.offset_elements - own.num_elements();
    if (after.lower_bound() >= 0 && !has_lost_value(after)) return "";
    return fmt::format("the place of {} is not known to be inside the result", name);
  }

  DispatchGraph& dispatch_;
  const Graph& graph_;
  std::set<Value> outputs_;  // the values that own their storage
};

}  // namespace

void place_parts(DispatchGraph& dispatch) { PartPlacer(dispatch).run(); }

}  // namespace millrace
