// SPDX-License-Identifier: Apache-2.0
// Applies the algebraic rules of simplify_rules.inc and the rules of node_rules.cpp and sink_reshape.cpp until nothing
// changes.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/guard_allocations.h"
#include "graph/passes/constant_elements.h"
#include "graph/passes/node_rules.h"
#include "graph/passes/rewrite_rule.h"
#include "graph/passes/rewriter.h"
#include "graph/passes/sink_reshape.h"
#include "millrace/graph/passes.h"
#include "millrace/jit/body.h"

namespace millrace {
namespace {

class Simplifier {
 public:
  explicit Simplifier(const Graph& old) : rewriter_(old), old_(old), has_other_readers_(old.nodes.size()) {
    for (const Node& node : old.nodes) {
      const auto* op = std::get_if<OpNode>(&node.what);
      if (op != nullptr && has_trait(op->op, kElementwise)) continue;
      for (const Value& operand : node.operands) has_other_readers_[index_of(operand.node)] = true;
    }
    for (const GraphUpdate& update : old.updates) has_other_readers_[index_of(update.value.node)] = true;
  }

  Graph run() {
    for (std::uint32_t i = 0; i < old_.nodes.size(); ++i) {
      const NodeId id{i};
      const NodeId added = rewriter_.append(rewriter_.mapped(id));
      std::optional<Value> simpler = old_.nodes[id].results.size() == 1 ? simplify({added, 0}) : std::nullopt;
      if (may_sink_reshapes(id)) {
        if (const auto sunk = sink_reshape(rewriter_, simpler.value_or(Value{added, 0}))) simpler = sunk;
      }
      if (simpler) {
        rewriter_.replace(id, *simpler);
      } else {
        rewriter_.keep(id, added);
      }
    }
    return rewriter_.finish();
  }

 private:
  const Graph& graph() const { return rewriter_.graph(); }

  /// Whether only elementwise nodes read what the node reads. With another reader, a reshape that sinks would leave the
  /// value in memory twice.
  bool may_sink_reshapes(NodeId id) const {
    return std::ranges::none_of(old_.nodes[id].operands, [&](const Value& operand) {
      return has_other_readers_[index_of(operand.node)] && !is_source(old_.nodes[operand.node]);
    });
  }

  /// Applies rules until none matches. This terminates: every rule either removes a node or produces an op that no rule
  /// rewrites back.
  std::optional<Value> simplify(Value value) {
    std::optional<Value> result;
    while (const std::optional<Value> next = step(result.value_or(value))) result = next;
    return result;
  }

  std::optional<Value> step(Value value) {
    for (const NodeRule& rule : node_rules()) {
      std::optional<NodeRewrite> rewrite = rule.apply(graph(), value.node);
      if (!rewrite) continue;
      if (rewrite->value) return rewrite->value;
      return Value{rewriter_.append(*std::move(rewrite->node)), 0};
    }
    for (const RewriteRule& rule : simplify_rules()) {
      const std::optional<RuleBindings> bindings = match(graph(), rule, value.node);
      if (bindings) return make(rule.replacement, *bindings, graph().type(value));
    }
    return std::nullopt;
  }

  /// Builds the replacement's nodes. Every op in a replacement has the type of the whole term.
  Value make(const RuleTerm& term, const RuleBindings& bindings, const TensorType& type) {
    if (term.kind == RuleTerm::Kind::kVariable) return bindings.at(term.variable);
    if (term.kind == RuleTerm::Kind::kNumber) return make_splat(term.number, type);
    Node node{OpNode{term.op, NoAttrs{}}, {}, {type}};
    for (const RuleTerm& operand : term.operands) node.operands.push_back(make(operand, bindings, type));
    return {rewriter_.append(std::move(node)), 0};
  }

  Value make_splat(double number, const TensorType& type) {
    std::vector<std::byte> data(size_bytes(type.dtype));
    store_element(type.dtype, data, 0, Scalar::from_double(body_dtype(type.dtype), number));
    const NodeId scalar = rewriter_.append({ConstantNode{std::move(data)}, {}, {{type.dtype, {}}}});
    if (type.shape.rank() == 0) return {scalar, 0};
    return {rewriter_.append({OpNode{Op::broadcast, BroadcastAttrs{type.shape.dims(), {}}}, {{scalar, 0}}, {type}}), 0};
  }

  GraphRewriter rewriter_;
  const Graph& old_;
  std::vector<bool> has_other_readers_;  // by node: whether something other than elementwise nodes reads it
};

}  // namespace

Status simplify_algebra(Graph& graph) {
  return guard_allocations([&]() -> Status {
    graph = Simplifier(graph).run();
    return {};
  });
}

}  // namespace millrace
