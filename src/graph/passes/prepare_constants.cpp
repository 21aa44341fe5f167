// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/prepare_constants.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/dispatch/views.h"
#include "jit/map/code_estimate.h"
#include "millrace/graph/passes.h"
#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

const OpNode* as_op(const Node& node) { return std::get_if<OpNode>(&node.what); }

bool is_elementwise(const Node& node) { return as_op(node) != nullptr && has_trait(as_op(node)->op, kElementwise); }
bool is_view(const Node& node) { return is_index_view(node) || is_storage_view(node); }
bool is_iota(const Node& node) { return as_op(node) != nullptr && as_op(node)->op == Op::iota; }

/// About as much as exp takes; fewer instructions are cheaper than a load that misses the caches.
constexpr std::int64_t kCostlyInstructions = 16;

bool is_costly(const Graph& graph, const Node& node) {
  BodyBuilder b;
  std::vector<BodyValue> operands;
  for (std::uint32_t i = 0; i < node.operands.size(); ++i) {
    operands.push_back(b.load(i, body_dtype(graph.type(node.operands[i]).dtype)));
  }
  definition(as_op(node)->op).body(b, operands, as_op(node)->attributes);
  return estimate_instructions(b.finish()) >= kCostlyInstructions;
}

/// Whether all indices of a gather or scatter are known, and name elements of the axis.
bool are_indices_known(const Graph& graph, const Node& node, const GatherAttrs& attributes) {
  const auto* indices = std::get_if<ConstantNode>(&graph.nodes[node.operands[1].node].what);
  if (indices == nullptr || indices->prepared) return false;
  const Shape& shape = graph.type(node.operands[0]).shape;
  const auto rank = static_cast<std::int64_t>(shape.rank());
  const std::int64_t extent = shape[static_cast<std::size_t>((attributes.axis + rank) % rank)].constant();
  const DType dtype = graph.type(node.operands[1]).dtype;
  for (std::size_t i = 0; i < indices->data.size(); i += size_bytes(dtype)) {
    const std::int64_t index = static_cast<std::int64_t>(load_scalar(dtype, indices->data.data() + i).to_double());
    if (index < -extent || index >= extent) return false;
  }
  return true;
}

class ConstantTaker {
 public:
  ConstantTaker(Graph& graph, std::uint64_t most_bytes) : graph_(graph), left_bytes_(most_bytes) {
    kinds_.resize(graph.nodes.size());
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) kinds_[NodeId{i}] = kind_of(graph.nodes[NodeId{i}]);
  }

  std::optional<Graph> run() {
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (kinds_[NodeId{i}].is_constant) continue;
      for (const Value& operand : graph_.nodes[NodeId{i}].operands) note_read(operand, &graph_.nodes[NodeId{i}]);
    }
    for (const Value& value : required_values(graph_)) note_read(value, nullptr);
    choose();
    if (chosen_.empty()) return std::nullopt;
    Graph setup = make_setup();
    for (std::uint32_t k = 0; k < chosen_.size(); ++k) {
      Node& node = graph_.nodes[chosen_[k]];
      node.what = ConstantNode{{}, k};
      node.operands.clear();
    }
    return setup;
  }

 private:
  /// What is known of a node's one result.
  struct Kind {
    bool is_constant = false;
    bool is_work = false;         // to compute it takes more than to read it
    bool is_cheap = true;         // a reader that is elementwise can compute it on the way
    std::int64_t read_bytes = 0;  // of the constants of many elements that it depends on
  };

  Kind kind_of(const Node& node) const {
    if (const auto* constant = std::get_if<ConstantNode>(&node.what)) {
      const std::size_t bytes = constant->data.size();
      return {true, false, true, bytes > size_bytes(node.results[0].dtype) ? static_cast<std::int64_t>(bytes) : 0};
    }
    const bool may_be = (as_op(node) != nullptr || std::holds_alternative<KernelNode>(node.what)) &&
                        node.results.size() == 1 && node.results[0].shape.is_static() &&
                        (!node.operands.empty() || is_iota(node));
    if (!may_be) return {};
    Kind kind{true, false, true, 0};
    for (const Value& operand : node.operands) {
      const Kind& of = kinds_[operand.node];
      kind.is_constant &= of.is_constant;
      kind.is_work |= of.is_work;
      kind.is_cheap &= of.is_cheap;
      kind.read_bytes += of.read_bytes;
    }
    if (!kind.is_constant) return {};
    if (const OpNode* op = as_op(node)) {
      const auto* attributes = std::get_if<GatherAttrs>(&op->attributes);
      if (attributes != nullptr && !are_indices_known(graph_, node, *attributes)) return {};
      if (is_view(node) || is_iota(node)) return kind;
    }
    kind.is_cheap &= is_elementwise(node) && !is_costly(graph_, node);
    kind.is_work |= kind.read_bytes > 0 || !kind.is_cheap;
    return kind;
  }

  /// A value that something else than constants needs. Views of it stay where they are. A reader that computes it on
  /// the way, from fewer bytes than it has, is better off so.
  void note_read(Value value, const Node* reader) {
    while (kinds_[value.node].is_work && is_view(graph_.nodes[value.node]))
      value = graph_.nodes[value.node].operands[0];
    const Kind& kind = kinds_[value.node];
    const Node& node = graph_.nodes[value.node];
    if (!kind.is_work || is_source(node)) return;
    const OpNode* reads = reader != nullptr ? as_op(*reader) : nullptr;
    const bool joins = reads != nullptr && (has_trait(reads->op, kElementwise) || has_trait(reads->op, kTakesTerm));
    if (joins && kind.is_cheap && size_bytes(node.results[0]).constant() > kind.read_bytes) return;
    wanted_.insert(value.node);
  }

  void choose() {
    for (const NodeId id : wanted_) {
      const SizeExpr bytes = size_bytes(graph_.nodes[id].results[0]);
      const auto needed = static_cast<std::uint64_t>(bytes.constant());
      if (needed > left_bytes_) continue;
      left_bytes_ -= needed;
      chosen_.push_back(id);
    }
  }

  Graph make_setup() const {
    std::vector<bool> is_needed(graph_.nodes.size());
    for (const NodeId id : chosen_) is_needed[index_of(id)] = true;
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      if (!is_needed[i]) continue;
      for (const Value& operand : graph_.nodes[NodeId(i)].operands) is_needed[index_of(operand.node)] = true;
    }
    Graph setup;
    setup.name = graph_.name + ".setup";
    IdVector<NodeId, NodeId> moved;
    moved.resize(graph_.nodes.size());
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!is_needed[i]) continue;
      Node node = graph_.nodes[NodeId{i}];
      for (Value& operand : node.operands) operand.node = moved[operand.node];
      moved[NodeId{i}] = setup.nodes.push_back(std::move(node));
    }
    for (std::size_t k = 0; k < chosen_.size(); ++k) {
      setup.outputs.push_back({fmt::format("prepared{}", k), {moved[chosen_[k]], 0}});
    }
    return setup;
  }

  Graph& graph_;
  std::uint64_t left_bytes_;
  IdVector<NodeId, Kind> kinds_;
  std::set<NodeId> wanted_;
  std::vector<NodeId> chosen_;
};

}  // namespace

Result<std::optional<Graph>> take_prepared(Graph& graph, std::uint64_t most_bytes) try {
  const InsideGuard inside;
  if (most_bytes == 0) return std::optional<Graph>();
  std::optional<Graph> setup = ConstantTaker(graph, most_bytes).run();
  if (setup) MILLRACE_TRY(eliminate_dead_nodes(graph));
  return setup;
} catch (const std::bad_alloc&) {
  return out_of_memory_outside_guards("constants");
}

}  // namespace millrace
