// SPDX-License-Identifier: Apache-2.0
// Moves costly work that depends only on constants into a setup graph, which runs once when a program is loaded.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/dispatch/node_instructions.h"
#include "graph/dispatch/views.h"
#include "graph/infer.h"
#include "graph/passes/rewriter.h"
#include "jit/map/code_estimate.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/passes.h"
#include "millrace/graph/text.h"
#include "millrace/jit/loop_kernel.h"
#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

const OpNode* as_op(const Node& node) { return std::get_if<OpNode>(&node.what); }

bool is_elementwise_op(const Node& node) { return as_op(node) != nullptr && has_trait(as_op(node)->op, kElementwise); }
bool is_view(const Node& node) { return is_index_view(node) || is_storage_view(node); }
bool is_iota(const Node& node) { return as_op(node) != nullptr && as_op(node)->op == Op::iota; }

/// About the cost of exp; fewer instructions are cheaper than a load that misses the caches.
constexpr std::int64_t kCostlyInstructions = 16;

bool is_costly(const Graph& graph, const Node& node) {
  BodyBuilder b;
  std::vector<BodyValue> operands;
  for (std::uint32_t i = 0; i < node.operands.size(); ++i) {
    operands.push_back(b.load(i, body_dtype(graph.type(node.operands[i]).dtype)));
  }
  record_body(b, graph, node, std::move(operands));
  return estimate_instructions(b.finish()) >= kCostlyInstructions;
}

/// Whether all indices of a gather or scatter are known, and within the axis.
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

/// Whether the node is an application's nest of constant sizes that cannot find an index out of range.
bool is_safe_nest(const Node& node) {
  const auto* own = std::get_if<NestNode>(&node.what);
  const auto checks = [](const BodyInstruction& instruction) { return instruction.op == KernelOp::kCheckIndex; };
  return own != nullptr && std::ranges::all_of(sizes_of(node), &SizeExpr::is_constant) &&
         std::ranges::none_of(own->nest->epilogue.instructions, checks) &&
         std::ranges::none_of(own->nest->terms,
                              [&](const Body& term) { return std::ranges::any_of(term.instructions, checks); });
}

bool is_static(const TensorType& type) { return type.shape.is_static(); }

class ConstantTaker {
 public:
  ConstantTaker(Graph& graph, std::uint64_t max_bytes, std::vector<UnpreparedConstant>& unprepared)
      : graph_(graph), left_bytes_(max_bytes), unprepared_(unprepared) {
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
    replace_chosen();
    return setup;
  }

 private:
  /// What is known about a node's results.
  struct Kind {
    bool is_constant = false;
    bool is_work = false;         // computing it costs more than reading it
    bool is_cheap = true;         // an elementwise reader can compute it while it loads
    std::int64_t read_bytes = 0;  // the bytes of the large constants that it depends on
  };

  Kind kind_of(const Node& node) const {
    if (const auto* constant = std::get_if<ConstantNode>(&node.what)) {
      const std::size_t bytes = constant->data.size();
      return {true, false, true, bytes > size_bytes(node.results[0].dtype) ? static_cast<std::int64_t>(bytes) : 0};
    }
    const bool may_be =
        (as_op(node) != nullptr || std::holds_alternative<KernelNode>(node.what) || is_safe_nest(node)) &&
        std::ranges::all_of(node.results, is_static) && (!node.operands.empty() || is_iota(node));
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
    kind.is_cheap &= is_elementwise_op(node) && !is_costly(graph_, node);
    kind.is_work |= kind.read_bytes > 0 || !kind.is_cheap;
    return kind;
  }

  /// Records that the value is read by an output, or by a node that needs more than constants. Views of the value stay
  /// in the graph. A value also stays if its reader can compute it from fewer bytes than the value has, because that is
  /// cheaper than loading it.
  void note_read(Value value, const Node* reader) {
    while (kinds_[value.node].is_work && is_view(graph_.nodes[value.node]))
      value = graph_.nodes[value.node].operands[0];
    const Kind& kind = kinds_[value.node];
    const Node& node = graph_.nodes[value.node];
    if (!kind.is_work || is_source(node)) return;
    const OpNode* reads = reader != nullptr ? as_op(*reader) : nullptr;
    const bool joins = reads != nullptr && (has_trait(reads->op, kElementwise) || has_trait(reads->op, kFusibleTerm));
    if (joins && kind.is_cheap && size_bytes(graph_.type(value)).constant() > kind.read_bytes) return;
    wanted_.insert(value);
  }

  void choose() {
    for (const Value& id : wanted_) {
      const auto needed = static_cast<std::uint64_t>(size_bytes(graph_.type(id)).constant());
      if (needed > left_bytes_) {
        unprepared_.push_back({caller_text(graph_, id.node), needed});
        continue;
      }
      left_bytes_ -= needed;
      chosen_.push_back(id);
    }
  }

  Graph make_setup() const {
    std::vector<bool> is_needed(graph_.nodes.size());
    for (const Value& value : chosen_) is_needed[index_of(value.node)] = true;
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      if (!is_needed[i]) continue;
      for (const Value& operand : graph_.nodes[NodeId(i)].operands) is_needed[index_of(operand.node)] = true;
    }
    Graph setup;
    setup.name = graph_.name + ".setup";
    setup.scopes = graph_.scopes;
    IdVector<NodeId, NodeId> moved;
    moved.resize(graph_.nodes.size());
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!is_needed[i]) continue;
      Node node = graph_.nodes[NodeId{i}];
      for (Value& operand : node.operands) operand.node = moved[operand.node];
      moved[NodeId{i}] = setup.nodes.push_back(std::move(node));
    }
    for (std::size_t k = 0; k < chosen_.size(); ++k) {
      setup.outputs.push_back({fmt::format("prepared{}", k), {moved[chosen_[k].node], chosen_[k].result}});
    }
    return setup;
  }

  /// Replaces the chosen values with constants that have no bytes yet. Leaves nodes without a reader in the graph.
  void replace_chosen() {
    GraphRewriter rewriter(graph_);
    std::map<Value, std::uint32_t> numbers;
    for (std::uint32_t k = 0; k < chosen_.size(); ++k) numbers.emplace(chosen_[k], k);
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeId id{i};
      const std::vector<TensorType>& results = graph_.nodes[id].results;
      rewriter.copy(id);
      for (std::uint32_t r = 0; r < results.size(); ++r) {
        const auto number = numbers.find({id, r});
        if (number == numbers.end()) continue;
        rewriter.replace_result(id, r, {rewriter.append({ConstantNode{{}, number->second}, {}, {results[r]}}), 0});
      }
    }
    graph_ = rewriter.finish();
  }

  Graph& graph_;
  std::uint64_t left_bytes_;
  std::vector<UnpreparedConstant>& unprepared_;
  IdVector<NodeId, Kind> kinds_;
  std::set<Value> wanted_;
  std::vector<Value> chosen_;
};

/// prepare_constants() for a graph or a body.
Result<std::optional<Graph>> take_setup(Graph& graph, std::uint64_t max_bytes,
                                        std::vector<UnpreparedConstant>& unprepared);

/// Moves work on constants out of bodies: the graph around a body does it and passes the results as operands of the
/// loop or condition.
class BodyHoister {
 public:
  BodyHoister(Graph& graph, std::uint64_t max_bytes, std::vector<UnpreparedConstant>& unprepared)
      : graph_(graph), rewriter_(graph), max_bytes_(max_bytes), unprepared_(unprepared) {}

  Status run() {
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      Node node = rewriter_.mapped(NodeId{i});
      const std::vector<std::shared_ptr<const Graph>*> bodies = bodies_of(node);
      for (std::shared_ptr<const Graph>* body : bodies) {
        auto rewritten = std::make_shared<Graph>(**body);
        MILLRACE_TRY_ASSIGN(std::optional<Graph> setup, take_setup(*rewritten, max_bytes_, unprepared_));
        if (!setup) continue;
        *body = rewritten;
        add_operands(*setup, *rewritten, node, bodies);
      }
      rewriter_.keep(NodeId{i}, rewriter_.append(std::move(node)));
    }
    graph_ = rewriter_.finish();
    return {};
  }

 private:
  void add_operands(const Graph& setup, Graph& body, Node& node,
                    const std::vector<std::shared_ptr<const Graph>*>& bodies) {
    IdVector<NodeId, NodeId> moved;
    for (const Node& each : setup.nodes) {
      Node copy = each;
      for (Value& operand : copy.operands) operand.node = moved[operand.node];
      copy.scope = rewriter_.scopes().find_or_add(setup.scopes, copy.scope);
      moved.push_back(rewriter_.append(std::move(copy)));
    }
    std::vector<NodeId> inputs(setup.outputs.size());
    for (std::uint32_t i = 0; i < body.nodes.size(); ++i) {
      auto* const constant = std::get_if<ConstantNode>(&body.nodes[NodeId{i}].what);
      if (constant == nullptr || !constant->prepared) continue;
      inputs[*constant->prepared] = NodeId{i};
    }
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      Node& input = body.nodes[inputs[k]];
      input.what = InputNode{unused_name(body)};
      input.names.clear();
      input.scope.reset();
      body.inputs.push_back(inputs[k]);
      node.operands.push_back({moved[setup.outputs[k].value.node], setup.outputs[k].value.result});
      for (std::shared_ptr<const Graph>* other : bodies) {  // both branches have the same inputs
        if (other->get() == &body) continue;
        auto extended = std::make_shared<Graph>(**other);
        extended->inputs.push_back(extended->nodes.push_back({InputNode{unused_name(*extended)}, {}, input.results}));
        *other = std::move(extended);
      }
    }
  }

  static std::string unused_name(const Graph& graph) {
    const std::set<std::string> names = value_names(graph);
    for (std::size_t i = 0;; ++i) {
      std::string name = fmt::format("constant{}", i);
      if (!names.contains(name)) return name;
    }
  }

  Graph& graph_;
  GraphRewriter rewriter_;
  std::uint64_t max_bytes_;
  std::vector<UnpreparedConstant>& unprepared_;
};

bool has_bodies(const Node& node) { return !bodies_of(node).empty(); }

Result<std::optional<Graph>> take_setup(Graph& graph, std::uint64_t max_bytes,
                                        std::vector<UnpreparedConstant>& unprepared) {
  if (std::ranges::any_of(std::as_const(graph).nodes, has_bodies))
    MILLRACE_TRY(BodyHoister(graph, max_bytes, unprepared).run());
  std::optional<Graph> setup = ConstantTaker(graph, max_bytes, unprepared).run();
  if (setup) MILLRACE_TRY(eliminate_dead_nodes(graph));
  return setup;
}

}  // namespace

Result<PreparedConstants> prepare_constants(Graph& graph, std::uint64_t max_bytes) {
  return guard_allocations([&]() -> Result<PreparedConstants> {
    PreparedConstants prepared;
    if (max_bytes == 0) return prepared;
    MILLRACE_TRY_ASSIGN(prepared.setup, take_setup(graph, max_bytes, prepared.unprepared));
    return prepared;
  });
}

}  // namespace millrace
