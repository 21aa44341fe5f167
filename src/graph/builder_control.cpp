// SPDX-License-Identifier: Apache-2.0
// Builds loops and conditions: collects the nodes of a body and moves them into a graph of their own.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/build_or_fail.h"
#include "graph/control_rules.h"
#include "graph/infer.h"
#include "millrace/graph/builder.h"
#include "millrace/graph/text.h"

namespace millrace {

/// The graph of a body, and the values that it reads from outside.
struct GraphBuilder::Body {
  Graph graph;
  std::vector<Value> captured;  // one per graph input
};

bool GraphBuilder::is_in_body(NodeId id) const {
  const std::uint32_t i = index_of(id);
  const auto after = std::ranges::upper_bound(body_ranges_, i, {}, &Range::begin);
  return after != body_ranges_.begin() && i < std::prev(after)->end;
}

bool GraphBuilder::accept_outside(const std::string& who) {
  if (open_.empty()) return true;
  fail(invalid_argument(fmt::format("{}: found inside a loop or a branch, expected outside; move it out", who)));
  return false;
}

/// Returns what `make` returns. If it fails, records the mistake in the graph and returns `count` invalid tensors, or
/// none if memory runs out.
template <class Make>
static std::vector<Tensor> make_or_fail(GraphBuilder& graph, const char* what, std::size_t count, Make&& make) {
  Result<std::vector<Tensor>> made = guard_allocations([&] { return graph.next_text(what); }, make);
  if (made.ok()) return *std::move(made);
  graph.fail(made.status());
  return or_invalid({}, count);
}

std::vector<Tensor> GraphBuilder::open_body(const char* what, std::span<const Tensor> initial) {
  return make_or_fail(*this, what, initial.size(), [&] { return open_state(what, initial); });
}

bool GraphBuilder::accept_state(std::span<const Tensor> initial, std::span<const Tensor> next) {
  make_or_fail(*this, "while", 0, [&] { return check_state(initial, next); });
  return status_.ok();
}

std::vector<Tensor> GraphBuilder::close_loop(Tensor first, std::span<const Tensor> initial,
                                             std::span<const Tensor> next, Tensor again) {
  return make_or_fail(*this, "while", initial.size(), [&] { return add_loop(first, initial, next, again); });
}

void GraphBuilder::close_branch(std::span<const Tensor> results) {
  make_or_fail(*this, "if", 0, [&] { return add_branch(results); });
}

std::vector<Tensor> GraphBuilder::close_cond(Tensor condition, std::span<const Tensor> results) {
  return make_or_fail(*this, "if", results.size(), [&] { return add_cond(condition, results); });
}

/// Adds one variable per state tensor. extract_body later moves the variables into the body with the body's other
/// nodes.
Result<std::vector<Tensor>> GraphBuilder::open_state(const char* what, std::span<const Tensor> initial) {
  std::vector<Tensor> state(initial.size());
  const std::string who = next_text(what);
  if (open_.size() == kMaxControlDepth) return invalid_argument(too_deep(who));
  open_.push_back(static_cast<std::uint32_t>(graph_.nodes.size()));
  if (!status_.ok() || !accept(initial, who)) return state;
  for (std::size_t i = 0; i < initial.size(); ++i) {
    TensorType type = initial[i].type();
    std::string name = fmt::format("state{}", i);
    value_names_.try_emplace(name, 0);  // no value in the body may get this name
    state[i] = append({VariableNode{std::move(name), {}}, {}, {std::move(type)}})[0];
  }
  return state;
}

namespace {

/// Moves the nodes from `begin` on into a body. A value from before `begin` that they read becomes an input of the
/// body.
class BodyExtractor {
 public:
  BodyExtractor(Graph& from, std::uint32_t begin, std::string name) : from_(from), begin_(begin) {
    body.name = std::move(name);
    body.is_body = true;
    for (auto i = begin; i < from.nodes.size(); ++i) note_names(NodeId{i});
  }

  void take(NodeId id) {
    Node node = std::move(from_.nodes[id]);
    from_.nodes[id].results = node.results;  // callers can still read their tensors' types
    for (Value& operand : node.operands) operand = map(operand);
    node.scope = body.scopes.find_or_add(from_.scopes, node.scope);
    moved_[id] = body.nodes.push_back(std::move(node));
  }

  Value map(Value value) {
    if (index_of(value.node) >= begin_) return {moved_.at(value.node), value.result};
    const auto [known, is_new] = inputs_.try_emplace(value, NodeId{});
    if (is_new) {
      const Node& outer = from_.nodes[value.node];
      std::string name = source_name(outer) != nullptr ? *source_name(outer) : "outer";
      if (value.result < outer.names.size() && !outer.names[value.result].empty()) name = outer.names[value.result];
      while (!names_.insert(name).second) name += "_";
      known->second = body.nodes.push_back({InputNode{std::move(name)}, {}, {from_.type(value)}});
      body.inputs.push_back(known->second);
      captured.push_back(value);
    }
    return {known->second, 0};
  }

  Graph body;
  std::vector<Value> captured;

 private:
  void note_names(NodeId id) {
    for (std::uint32_t result = 0; result < from_.nodes[id].results.size(); ++result) {
      names_.insert(value_name(from_, {id, result}));
    }
  }

  Graph& from_;
  std::uint32_t begin_;
  std::map<NodeId, NodeId> moved_;
  std::map<Value, NodeId> inputs_;
  std::set<std::string> names_;
};

/// Gives `graph` unused inputs for the values that only `other` captures, so that both graphs have an input for each
/// captured value.
void share_inputs(Graph& graph, std::vector<Value>& captured, const Graph& other, std::span<const Value> others) {
  std::set<std::string> names = value_names(graph);
  const std::set<Value> known(captured.begin(), captured.end());
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (known.contains(others[i])) continue;
    std::string name = *source_name(other.nodes[other.inputs[i]]);
    while (!names.insert(name).second) name += "_";
    graph.inputs.push_back(
        graph.nodes.push_back({InputNode{std::move(name)}, {}, other.nodes[other.inputs[i]].results}));
    captured.push_back(others[i]);
  }
}

}  // namespace

GraphBuilder::Body GraphBuilder::extract_body(std::string name, std::span<const Tensor> outputs,
                                              std::span<const Tensor> updates) {
  const std::uint32_t begin = open_.back();
  open_.pop_back();
  const auto end = static_cast<std::uint32_t>(graph_.nodes.size());
  BodyExtractor extractor(graph_, begin, std::move(name));
  for (std::uint32_t i = begin; i < end; ++i) {
    if (!is_in_body(NodeId{i})) extractor.take(NodeId{i});
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    extractor.body.outputs.push_back(
        {updates.empty() ? fmt::format("result{}", i) : "again", extractor.map(outputs[i].value())});
  }
  const std::vector<NodeId> states = variables_of(extractor.body);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    extractor.body.updates.push_back({states[i], extractor.map(updates[i].value())});
  }
  mark_in_body(begin);
  return {std::move(extractor.body), std::move(extractor.captured)};
}

void GraphBuilder::drop_bodies(std::size_t num_open, std::size_t num_branches) {
  // Destructors call this function, so it must not throw.
  const Status dropped = guard_allocations([&]() -> Status {
    if (open_.size() > num_open) mark_in_body(open_[num_open]);
    return {};
  });
  if (!dropped.ok()) fail(dropped);
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(std::min(open_.size(), num_open)), open_.end());
  branches_.resize(std::min(branches_.size(), num_branches));
}

/// Marks all nodes from `begin` on as moved into a body. The new range replaces those of inner bodies, the last ones.
void GraphBuilder::mark_in_body(std::uint32_t begin) {
  const auto end = static_cast<std::uint32_t>(graph_.nodes.size());
  while (!body_ranges_.empty() && body_ranges_.back().begin >= begin) body_ranges_.pop_back();
  if (begin < end) body_ranges_.push_back({begin, end});
}

Result<std::vector<Tensor>> GraphBuilder::check_state(std::span<const Tensor> initial, std::span<const Tensor> next) {
  if (!status_.ok()) return std::vector<Tensor>();
  const std::string who = next_text("while");
  if (next.size() != initial.size()) {
    return invalid_argument(
        fmt::format("{}: the body returns {} tensors, expected {} for the next state; return one per state", who,
                    next.size(), initial.size()));
  }
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (!accept(next[i], fmt::format("{}: the next state {}", who, i))) break;
    if (next[i].type() == initial[i].type()) continue;
    return invalid_argument(fmt::format("{}: state {} is {} at first, and {} after an iteration; give it one type", who,
                                        i, initial[i].type().to_text(), next[i].type().to_text()));
  }
  return std::vector<Tensor>();
}

Result<std::vector<Tensor>> GraphBuilder::add_loop(Tensor first, std::span<const Tensor> initial,
                                                   std::span<const Tensor> next, Tensor again) {
  const std::string who = next_text("while");
  const bool is_valid =
      status_.ok() && accept(first, who + ": the condition") && accept(again, who + ": the condition");
  if (!is_valid) return std::vector<Tensor>(initial.size());
  Body body = extract_body("round", {&again, 1}, next);
  Node node{LoopNode{std::make_shared<const Graph>(std::move(body.graph))}, {first.value()}, {}};
  for (const Tensor& tensor : initial) node.operands.push_back(tensor.value());
  node.operands.insert(node.operands.end(), body.captured.begin(), body.captured.end());
  return append_inferred(std::move(node));
}

bool GraphBuilder::accept_results(std::span<const Tensor> results, std::string_view branch) {
  for (std::size_t i = 0; status_.ok() && i < results.size(); ++i) {
    accept(results[i], fmt::format("{}: result {} of the {} branch", next_text("if"), i, branch));
  }
  return status_.ok();
}

Result<std::vector<Tensor>> GraphBuilder::add_branch(std::span<const Tensor> results) {
  if (accept_results(results, "first"))
    branches_.push_back(std::make_shared<Body>(extract_body("if_true", results, {})));
  return std::vector<Tensor>();
}

Result<std::vector<Tensor>> GraphBuilder::add_cond(Tensor condition, std::span<const Tensor> results) {
  const std::string who = next_text("if") + ": the condition";
  if (!accept_results(results, "second") || !accept(condition, who)) return std::vector<Tensor>(results.size());
  Body if_true = std::move(*branches_.back());
  branches_.pop_back();
  Body if_false = extract_body("if_false", results, {});
  // The operands are the values that the first branch reads, in its order, then those that only the second reads.
  share_inputs(if_true.graph, if_true.captured, if_false.graph, if_false.captured);
  share_inputs(if_false.graph, if_false.captured, if_true.graph, if_true.captured);
  std::map<Value, NodeId> inputs;
  for (std::size_t i = 0; i < if_false.captured.size(); ++i) {
    inputs.emplace(if_false.captured[i], if_false.graph.inputs[i]);
  }
  if_false.graph.inputs.clear();
  for (const Value& value : if_true.captured) if_false.graph.inputs.push_back(inputs.at(value));
  Node node{CondNode{std::make_shared<const Graph>(std::move(if_true.graph)),
                     std::make_shared<const Graph>(std::move(if_false.graph))},
            {condition.value()},
            {}};
  node.operands.insert(node.operands.end(), if_true.captured.begin(), if_true.captured.end());
  return append_inferred(std::move(node));
}

Result<std::vector<Tensor>> GraphBuilder::append_inferred(Node node) {
  std::vector<TensorType> types;
  for (const Value& operand : node.operands) types.push_back(graph_.type(operand));
  Result<Inference> inferred = infer_node(node, types);
  if (!inferred.ok()) {
    return Status(inferred.status().code(),
                  fmt::format("{}: {}", next_text(kind_name(node)), inferred.status().message()));
  }
  node.results = std::move(inferred->results);
  return append(std::move(node));
}

void GraphBuilder::drop_body_nodes(Graph& graph) const {
  if (body_ranges_.empty()) return;
  IdVector<NodeId, NodeId> moved;
  IdVector<NodeId, Node> nodes;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    moved.push_back(NodeId(nodes.size()));
    if (is_in_body(NodeId{i})) continue;
    Node& node = graph.nodes[NodeId{i}];
    for (Value& operand : node.operands) operand.node = moved[operand.node];
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
  for (NodeId& input : graph.inputs) input = moved[input];
  for (GraphOutput& output : graph.outputs) output.value.node = moved[output.value.node];
  for (auto& [variable, value] : graph.updates) {
    variable = moved[variable];
    value.node = moved[value.node];
  }
}

}  // namespace millrace
