// SPDX-License-Identifier: Apache-2.0
// Decides which results overwrite an operand or a variable in place, so that no copy remains.
#include "graph/dispatch/place_updates.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "graph/dispatch/nest_reads.h"
#include "graph/dispatch/views.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

bool is_scatter(const Node& node) {
  const auto* op = std::get_if<OpNode>(&node.what);
  return op != nullptr && has_trait(op->op, kTakesIndices) && has_trait(op->op, kSequence);
}

class UpdatePlacer {
 public:
  explicit UpdatePlacer(DispatchGraph& dispatch) : dispatch_(dispatch), graph_(dispatch.graph) {
    for (std::uint32_t i = 0; i < dispatch.regions.size(); ++i) {
      const Region& region = dispatch.regions[RegionId{i}];
      for (const Value& input : region.inputs) readers_[dispatch.storage_of(input)].push_back(RegionId{i});
      for (const Value& output : region.outputs) writers_.emplace(output, RegionId{i});
    }
    for (const auto& [value, part] : dispatch.parts) parts_[part.whole].push_back(value);
    for (const GraphOutput& output : graph_.outputs) outputs_.insert(dispatch.storage_of(output.value));
  }

  void run() {
    for (std::uint32_t i = 0; i < dispatch_.regions.size(); ++i) {
      Region& region = dispatch_.regions[RegionId{i}];
      if (is_loop(region)) place_state(RegionId{i});
      if (scattered(region) == nullptr) continue;
      const Value operand = dispatch_.storage_of(scattered(region)->operands[0]);
      if (is_variable(operand)) continue;  // only its own update may change it
      region.copy_reason = find_obstacle(RegionId{i}, operand, region.outputs[0]);
      if (region.copy_reason.empty()) dispatch_.in_place[region.outputs[0]] = operand;
    }
    for (const GraphUpdate& update : graph_.updates) {
      if (dispatch_.storage_of(update.value) == Value{update.variable, 0}) continue;  // the value stays as it is
      std::string reason = place(update);
      if (!reason.empty()) dispatch_.copied_updates.push_back({update, std::move(reason)});
    }
    for (std::uint32_t i = 0; i < dispatch_.regions.size(); ++i) replace_operand(RegionId{i});
    for (Region& region : dispatch_.regions) explain_copy(region);
  }

 private:
  bool is_variable(Value value) const { return std::holds_alternative<VariableNode>(graph_.nodes[value.node].what); }
  std::string name(Value value) const { return value_text(graph_, value); }

  /// The scatter of a scatter's region; null for any other region.
  const Node* scattered(const Region& region) const {
    const Node& node = graph_.nodes[region.nodes[0]];
    return region.nodes.size() == 1 && is_scatter(node) ? &node : nullptr;
  }

  bool is_loop(const Region& region) const {
    return std::holds_alternative<LoopNode>(graph_.nodes[region.nodes[0]].what);
  }

  /// Places a loop's condition and states: each begins in the memory of the loop's operand, or with a copy of it.
  void place_state(RegionId id) {
    Region& region = dispatch_.regions[id];
    const Node& loop = graph_.nodes[region.nodes[0]];
    for (std::uint32_t i = 0; i <= loop.results.size(); ++i) {
      const Value operand = dispatch_.storage_of(loop.operands[i]);
      if (is_variable(operand)) {  // only its own update may change it
        region.copies.push_back({i, name(loop.operands[i]) + " is a variable"});
        continue;
      }
      const std::optional<Value> state = i == 0 ? std::nullopt : std::optional(region.outputs[i - 1]);
      std::string reason = find_obstacle(id, operand, state);
      if (!reason.empty()) {
        region.copies.push_back({i, std::move(reason)});
      } else if (state) {
        dispatch_.in_place[*state] = operand;
      }
    }
  }

  /// Whether the value is a loop's state that begins in the variable's memory, and the loop reads the variable nowhere
  /// else.
  bool continues(const Region& region, Value state, Value variable) const {
    if (!is_loop(region)) return false;
    const Value first = graph_.nodes[region.nodes[0]].operands[state.result + 1];
    return dispatch_.storage_of(first) == variable && reads_once(region, variable);
  }

  /// Why the region may not store a result (`stored`, if given) in the memory of its operand `old`; empty if it may.
  std::string find_obstacle(RegionId id, Value old, std::optional<Value> stored) const {
    const Node& node = graph_.nodes[old.node];
    if (std::holds_alternative<InputNode>(node.what)) return name(old) + " is an input";
    if (std::holds_alternative<ConstantNode>(node.what)) return name(old) + " is a constant";
    const std::string needed = find_later_need(id, old);
    if (!needed.empty()) return needed;
    for (const Value value : {old, stored.value_or(old)}) {
      if (const auto part = dispatch_.parts.find(value); part != dispatch_.parts.end()) {
        return fmt::format("{} is in the memory of {}", name(value), name(part->second.whole));
      }
    }
    for (const Value part : parts_of(old)) {
      const std::string reason = find_later_need(id, part);
      if (!reason.empty()) return reason;
      if (reads(dispatch_.regions[id], part)) return fmt::format("{} is used as another operand too", name(part));
    }
    return reads_once(dispatch_.regions[id], old) ? "" : fmt::format("{} is used as another operand too", name(old));
  }

  /// The values that are stored in the memory of `whole` as parts, or as parts of parts.
  std::vector<Value> parts_of(Value whole) const {
    std::vector<Value> all, open = {whole};
    while (!open.empty()) {
      const auto parts = parts_.find(open.back());
      open.pop_back();
      if (parts == parts_.end()) continue;
      all.insert(all.end(), parts->second.begin(), parts->second.end());
      open.insert(open.end(), parts->second.begin(), parts->second.end());
    }
    return all;
  }
  bool reads(const Region& region, Value old) const {
    return std::ranges::any_of(region.inputs, [&](Value input) { return dispatch_.storage_of(input) == old; });
  }

  /// Whether all other readers of the value come before the region in every order, because the region needs what they
  /// store.
  bool follows_readers(RegionId id, Value old) const {
    const auto readers = readers_.find(old);
    if (readers == readers_.end() || readers->second.back() != id) return false;
    std::set<RegionId> missing(readers->second.begin(), readers->second.end()), seen;
    missing.erase(id);
    std::vector<RegionId> open = {id};
    while (!missing.empty() && !open.empty()) {
      const Region& region = dispatch_.regions[open.back()];
      open.pop_back();
      for (const Value input : region.inputs) {
        for (const RegionId writer : writers_of(dispatch_.storage_of(input))) {
          if (writer < *missing.begin() || !seen.insert(writer).second) continue;
          missing.erase(writer);
          open.push_back(writer);
          if (missing.empty()) return true;
        }
      }
    }
    return missing.empty();
  }
  /// The regions that store `stored`. If none does, those that store the values that share its memory.
  std::vector<RegionId> writers_of(Value stored) const {
    std::vector<RegionId> found;
    const auto add = [&](Value value) {
      if (const auto writer = writers_.find(value); writer != writers_.end()) found.push_back(writer->second);
    };
    add(stored);
    for (const Value part : parts_of(stored)) add(part);
    return found;
  }

  /// Lets an elementwise region overwrite an operand, if the region is the operand's last reader in every order:
  /// otherwise it would have to wait for the other readers.
  void replace_operand(RegionId id) {
    const Region& region = dispatch_.regions[id];
    if (region.outputs.size() != 1 || dispatch_.in_place.contains(region.outputs[0])) return;
    for (const Value input : region.inputs) {
      const Value old = dispatch_.storage_of(input);
      if (!writers_.contains(old) || parts_.contains(old)) continue;
      if (graph_.type(input) != graph_.type(region.outputs[0]) || !is_pointwise(region, old)) continue;
      if (!find_obstacle(id, old, region.outputs[0]).empty() || !follows_readers(id, old)) continue;
      dispatch_.in_place[region.outputs[0]] = old;
      return;
    }
  }

  /// Says what needs the value after the region has begun; empty if nothing does.
  std::string find_later_need(RegionId id, Value old) const {
    if (outputs_.contains(old) && !is_variable(old)) return name(old) + " is an output, too";
    for (const auto& [variable, value] : graph_.updates) {
      if (dispatch_.storage_of(value) != old) continue;
      return fmt::format("{} becomes the value of {} at the end", name(old), name({variable, 0}));
    }
    const auto readers = readers_.find(old);
    if (readers == readers_.end() || readers->second.back() <= id) return "";
    return fmt::format("{} is read later by {}", name(old), dispatch_.regions[readers->second.back()].name);
  }

  /// Whether exactly one operand is in the memory of `old`; for a scatter, it must be the one that the scatter changes.
  bool reads_once(const Region& region, Value old) const {
    const auto is_old = [&](Value operand) { return dispatch_.storage_of(operand) == old; };
    if (const Node* scatter = scattered(region)) {
      return is_old(scatter->operands[0]) && !is_old(scatter->operands[1]) && !is_old(scatter->operands[2]);
    }
    if (!region.bodies.empty()) return std::ranges::count_if(graph_.nodes[region.nodes[0]].operands, is_old) == 1;
    return std::ranges::count_if(region.inputs, is_old) == 1;
  }

  /// Whether the region reads `old` only at the point that it stores: elementwise ops and an iota, without views, and
  /// an application's nest that does so. An elementwise kernel of an application does not qualify, because it may be
  /// split into several kernels that all read `old`.
  bool is_pointwise(const Region& region, Value old) const {
    return region.outputs.size() == 1 && std::ranges::all_of(region.nodes, [&](NodeId id) {
             const Node& node = graph_.nodes[id];
             if (is_index_view(node)) return dispatch_.storage_of(node.operands[0]) != old;
             if (const LoopKernel* nest = own_nest(node)) {
               if (!nest->terms.empty() || nest->stores.size() != 1) return false;
               for (std::size_t k = 0; k < node.operands.size(); ++k) {
                 const Value operand = node.operands[k];
                 const bool may_read =
                     dispatch_.storage_of(operand) == old || std::ranges::binary_search(region.nodes, operand.node);
                 if (may_read && !reads_where_it_stores(*nest, k)) return false;
               }
               return true;
             }
             const auto* op = std::get_if<OpNode>(&node.what);
             return op != nullptr && (has_trait(op->op, kElementwise) || op->op == Op::iota);
           });
  }

  /// Stores the variable's new value in the variable, or returns the reason why that is not possible.
  std::string place(const GraphUpdate& update) {
    const Value variable{update.variable, 0}, stored = dispatch_.storage_of(update.value);
    const Node& node = graph_.nodes[stored.node];
    if (std::holds_alternative<InputNode>(node.what)) return name(update.value) + " is an input";
    if (std::holds_alternative<ConstantNode>(node.what)) return name(update.value) + " is a constant";
    // The value that is stored in this memory first, and that in-place regions then change into the new value.
    const Value first = dispatch_.memory_of(stored);
    if (is_variable(first)) {
      return first == stored ? name(update.value) + " is a variable"
                             : fmt::format("{} is in the memory of {}", name(update.value), name(first));
    }
    if (const auto part = dispatch_.parts.find(first); part != dispatch_.parts.end()) {
      return fmt::format("{} is in the memory of {}", name(update.value), name(part->second.whole));
    }
    const auto writer = writers_.find(first);
    if (writer == writers_.end() || parts_.contains(first)) {
      return fmt::format("operands of {} are stored in its memory at other times", name(update.value));
    }
    const Region& region = dispatch_.regions[writer->second];
    const std::string needed = find_later_need(writer->second, variable);
    if (!needed.empty()) return needed;
    const auto readers = readers_.find(variable);
    const bool reads = readers != readers_.end() && readers->second.back() == writer->second;
    const bool can_replace = (reads_once(region, variable) && (scattered(region) || is_pointwise(region, variable))) ||
                             continues(region, first, variable);
    if (reads && !can_replace) return fmt::format("{} reads {} while it stores", region.name, name(variable));
    dispatch_.in_place[first] = variable;
    if (reads && is_loop(region)) {
      Region& loop = dispatch_.regions[writer->second];
      std::erase_if(loop.copies, [&](const CopiedOperand& copy) { return copy.operand == first.result + 1; });
    }
    return "";
  }

  /// If a scatter changes a copy of a variable, records why the copy is needed.
  void explain_copy(Region& region) const {
    const Node* scatter = scattered(region);
    if (scatter == nullptr || !region.copy_reason.empty()) return;
    const Value variable = dispatch_.storage_of(scatter->operands[0]);
    if (dispatch_.memory_of(region.outputs[0]) == dispatch_.memory_of(variable)) return;
    const auto copied = std::ranges::find_if(dispatch_.copied_updates, [&](const CopiedUpdate& copy) {
      return Value{copy.update.variable, 0} == variable &&
             dispatch_.memory_of(copy.update.value) == dispatch_.memory_of(region.outputs[0]);
    });
    region.copy_reason = copied != dispatch_.copied_updates.end()
                             ? copied->reason
                             : fmt::format("{} is a variable, which this scatter does not update", name(variable));
  }

  DispatchGraph& dispatch_;
  const Graph& graph_;
  std::map<Value, std::vector<RegionId>> readers_;  // keyed by storage, in order
  std::map<Value, RegionId> writers_;
  std::map<Value, std::vector<Value>> parts_;  // concat or pad -> the operands in its memory
  std::set<Value> outputs_;                    // keyed by storage
};

}  // namespace

void place_updates(DispatchGraph& dispatch) { UpdatePlacer(dispatch).run(); }

}  // namespace millrace
