// SPDX-License-Identifier: Apache-2.0
// Infers and checks the types of loops and conditions, for the builder, the parser and verify(Graph).
#include "graph/control_rules.h"

#include <fmt/format.h>

#include "graph/infer.h"
#include "millrace/base/printable.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

const TensorType& condition_type() {
  static const TensorType kType{DType::kBool, {}};
  return kType;
}

Status check_operand(std::span<const TensorType> operands, std::size_t number, const TensorType& expected,
                     std::string_view like) {
  if (operands[number] == expected) return {};
  return invalid_argument(fmt::format("operand {} is {}, expected {}, {}; cast or reshape it", number,
                                      operands[number].to_text(), expected.to_text(), like));
}

/// The operands from `first` on must have the types of the body's inputs.
Status check_inputs(const Graph& body, std::span<const TensorType> operands, std::size_t first) {
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    const Value input{body.inputs[i], 0};
    MILLRACE_TRY(check_operand(operands, first + i, body.type(input),
                               fmt::format("as input {} of '{}'", value_text(body, input), printable(body.name))));
  }
  return {};
}

Status check_count(std::size_t results) {
  if (results > 0 && results <= kMaxControlResults) return {};
  return invalid_argument(fmt::format("has {} results, expected 1 to {}; {}", results, kMaxControlResults,
                                      results == 0 ? "return one" : "concatenate some"));
}

Status check_same(std::span<const TensorType> first, std::span<const TensorType> second, const CondNode& cond) {
  const std::string one = printable(cond.if_true->name), other = printable(cond.if_false->name);
  if (first.size() != second.size()) {
    return invalid_argument(
        fmt::format("'{}' returns {} values, '{}' {}, expected the same number; return one for each", one, first.size(),
                    other, second.size()));
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i] == second[i]) continue;
    return invalid_argument(fmt::format("result {} is {} in '{}' and {} in '{}', expected one type; cast or reshape it",
                                        i, first[i].to_text(), one, second[i].to_text(), other));
  }
  return {};
}

/// Adds the checks that the body's nodes leave to run time.
Status add_requirements(const Graph& body, std::vector<SizeRequirement>& requirements) {
  const std::vector<bool> live = live_nodes(body);
  for (std::uint32_t i = 0; i < body.nodes.size(); ++i) {
    const Node& node = body.nodes[NodeId{i}];
    if (!live[i] || is_source(node)) continue;
    std::vector<TensorType> operands;
    for (const Value& operand : node.operands) operands.push_back(body.type(operand));
    MILLRACE_TRY_ASSIGN(Inference inferred, infer_node(node, operands));
    for (SizeRequirement& each : inferred.requirements) requirements.push_back(std::move(each));
  }
  return {};
}

}  // namespace

std::string too_deep(std::string_view who) {
  return fmt::format("{}: is inside {} loops and conditions, expected at most {}; compute the inner ones outside", who,
                     kMaxControlDepth, kMaxControlDepth - 1);
}

Result<Inference> infer_loop(const LoopNode& loop, std::span<const TensorType> operands) {
  const Graph& body = *loop.body;
  const std::vector<NodeId> states = variables_of(body);
  if (operands.size() != 1 + states.size() + body.inputs.size()) {
    return invalid_argument(
        fmt::format("{} operand{}, expected {}: the condition, {} of state, and {} that '{}' reads; "
                    "give each once",
                    operands.size(), operands.size() == 1 ? "" : "s", 1 + states.size() + body.inputs.size(),
                    states.size(), body.inputs.size(), printable(body.name)));
  }
  MILLRACE_TRY(check_count(states.size()));
  MILLRACE_TRY(check_operand(operands, 0, condition_type(), "the condition"));
  Inference inferred{{}};
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Value state{states[i], 0};
    MILLRACE_TRY(check_operand(operands, 1 + i, body.type(state), "as state " + value_text(body, state)));
    inferred.results.push_back(body.type(state));
  }
  MILLRACE_TRY(check_inputs(body, operands, 1 + states.size()));
  if (body.outputs.size() != 1 || body.type(body.outputs[0].value) != condition_type()) {
    return invalid_argument(
        fmt::format("'{}' has {} outputs, expected one bool[] that is true to continue; return that",
                    printable(body.name), body.outputs.size()));
  }
  MILLRACE_TRY(add_requirements(body, inferred.requirements));
  return inferred;
}

Result<Inference> infer_cond(const CondNode& cond, std::span<const TensorType> operands) {
  if (operands.empty()) return invalid_argument("no operands, expected the condition; give it");
  MILLRACE_TRY(check_operand(operands, 0, condition_type(), "the condition"));
  Inference inferred{{}};
  for (const Graph* body : {cond.if_true.get(), cond.if_false.get()}) {
    if (operands.size() != 1 + body->inputs.size()) {
      return invalid_argument(
          fmt::format("{} operand{}, expected {}: the condition, and {} that '{}' reads; give each "
                      "once",
                      operands.size(), operands.size() == 1 ? "" : "s", 1 + body->inputs.size(), body->inputs.size(),
                      printable(body->name)));
    }
    if (!variables_of(*body).empty()) {
      return invalid_argument(
          fmt::format("'{}' has a variable, expected none in a branch; return its value", printable(body->name)));
    }
    MILLRACE_TRY(check_inputs(*body, operands, 1));
    std::vector<TensorType> results;
    for (const GraphOutput& output : body->outputs) results.push_back(body->type(output.value));
    MILLRACE_TRY(check_count(results.size()));
    if (!inferred.results.empty()) MILLRACE_TRY(check_same(inferred.results, results, cond));
    inferred.results = std::move(results);
    MILLRACE_TRY(add_requirements(*body, inferred.requirements));
  }
  return inferred;
}

}  // namespace millrace
