// SPDX-License-Identifier: Apache-2.0
// Every rule is tried on random and edge values, and must fire; a seeded wrong rule must be caught.
#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "graph/passes/node_rules.h"
#include "graph/passes/rewrite_rule.h"
#include "millrace/millrace.h"
#include "millrace/ops/op_def.h"
#include "tests/support/golden.h"

namespace millrace {
namespace {

/// What a node of `dtype` gives of a value that a body computed.
Scalar round_to(DType dtype, Scalar value) {
  HostEval eval;
  return eval.convert(body_dtype(dtype), eval.convert(dtype, value));
}

Scalar random_scalar(DType dtype, std::mt19937_64& random) {
  if (dtype == DType::kBool) return Scalar::of((random() & 1) != 0);
  if (is_integer(dtype)) {
    constexpr std::int64_t kEdges[] = {0,
                                       1,
                                       -1,
                                       std::numeric_limits<std::int32_t>::min(),
                                       std::numeric_limits<std::int32_t>::max(),
                                       std::numeric_limits<std::int64_t>::min()};
    const std::int64_t value =
        (random() & 1) != 0 ? kEdges[random() % std::size(kEdges)] : static_cast<std::int64_t>(random());
    return Scalar::from_int(dtype, value);
  }
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double edges[] = {0.0, -0.0, 1, -1, 0.5, -0.5, 2.5, kInf, -kInf, std::nan(""), 1e-310, 1e-40, 3e38};
  const double value = (random() & 1) != 0 ? edges[random() % std::size(edges)]
                                           : std::ldexp(static_cast<double>(random() >> 11), -40) - 4000;
  return round_to(dtype, Scalar::from_double(dtype, value));
}

using Variables = std::map<char, Scalar>;

Scalar evaluate_term(const RuleTerm& term, DType dtype, Variables& variables, std::mt19937_64& random) {
  if (term.kind == RuleTerm::Kind::kNumber) return round_to(dtype, Scalar::from_double(dtype, term.number));
  if (term.kind == RuleTerm::Kind::kVariable) {
    const auto it = variables.find(term.variable);
    return it != variables.end() ? it->second : variables[term.variable] = random_scalar(dtype, random);
  }
  std::vector<Scalar> operands;
  for (std::size_t i = 0; i < term.operands.size(); ++i) {
    const bool is_condition = term.op == Op::select && i == 0;
    operands.push_back(evaluate_term(term.operands[i], is_condition ? DType::kBool : dtype, variables, random));
  }
  HostEval eval;
  return round_to(dtype, definition(term.op).host(eval, {eval, operands}, NoAttrs{}));
}

bool same(const Scalar& a, const Scalar& b) {
  return a == b || (is_float(a.dtype) && std::isnan(a.to_double()) && std::isnan(b.to_double()));
}

/// The number of trials in which pattern and replacement differ.
int mismatches(const RewriteRule& rule) {
  std::mt19937_64 random(17);
  int wrong = 0;
  for (DType dtype : kAllDTypes) {
    if (!accepts(rule, dtype)) continue;
    for (int trial = 0; trial < 2000; ++trial) {
      Variables variables;
      const Scalar before = evaluate_term(rule.pattern, dtype, variables, random);
      const Scalar after = evaluate_term(rule.replacement, dtype, variables, random);
      wrong += same(before, after) ? 0 : 1;
    }
  }
  return wrong;
}

Tensor build_term(GraphBuilder& graph, const RuleTerm& term, DType dtype, std::map<char, Tensor>& variables) {
  if (term.kind == RuleTerm::Kind::kNumber) return graph.fill(dtype, {3}, term.number);
  if (term.kind == RuleTerm::Kind::kVariable) {
    const auto it = variables.find(term.variable);
    if (it != variables.end()) return it->second;
    return variables[term.variable] = graph.input(std::string(1, term.variable), dtype, {3});
  }
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < term.operands.size(); ++i) {
    const bool is_condition = term.op == Op::select && i == 0;
    operands.push_back(build_term(graph, term.operands[i], is_condition ? DType::kBool : dtype, variables));
  }
  return graph.op(term.op, operands)[0];
}

TEST_CASE("every rule keeps the meaning of its pattern") {
  for (const RewriteRule& rule : simplify_rules()) {
    CAPTURE(std::string(rule.pattern_text));
    CHECK(mismatches(rule) == 0);
  }
}

TEST_CASE("a wrong rule is caught") {
  CHECK(mismatches(make_rule(kFloats, "add(x, 0)", "x")) > 0);
  CHECK(mismatches(make_rule(kFloats, "sub(x, x)", "0")) > 0);
  CHECK(mismatches(make_rule(kInts, "div(x, x)", "1")) > 0);
}

TEST_CASE("every rule fires on its own pattern") {
  for (const RewriteRule& rule : simplify_rules()) {
    for (DType dtype : kAllDTypes) {
      if (!accepts(rule, dtype)) continue;
      CAPTURE(std::string(rule.pattern_text));
      GraphBuilder builder;
      std::map<char, Tensor> variables;
      builder.output("y", build_term(builder, rule.pattern, dtype, variables));
      Graph graph = builder.finish().value();
      CHECK(match(graph, rule, graph.outputs[0].value.node).has_value());
      REQUIRE(simplify_algebra(graph).ok());
      CHECK(verify(graph).message() == "");
      CHECK_FALSE(match(graph, rule, graph.outputs[0].value.node).has_value());
    }
  }
}

std::string simplified(GraphBuilder& builder) {
  Graph graph = builder.finish().value();
  REQUIRE(simplify_algebra(graph).ok());
  REQUIRE(eliminate_dead_nodes(graph).ok());
  REQUIRE(verify(graph).message() == "");
  return to_text(graph);
}

TEST_CASE("adjacent views become one, and views that do nothing are removed") {
  GraphBuilder graph("views");
  Tensor x = graph.input("x", DType::kF32, {2, 3, 4});
  graph.output("transposed", transpose(transpose(x, {1, 2, 0}), {1, 2, 0}));
  graph.output("same", transpose(transpose(x, {1, 2, 0}), {2, 0, 1}));
  graph.output("reshaped", reshape(reshape(x, {24}), {4, 6}));
  graph.output("broadcast", broadcast(broadcast(x, {5, 2, 3, 4}, {1, 2, 3}), {5, 2, 7, 3, 4}, {0, 1, 3, 4}));
  graph.output("whole", slice(pad(cast(x, DType::kF32), {0, 0, 0}, {0, 0, 0}), {0, 0, 0}, {2, 3, 4}));
  graph.output("alone", concat(std::vector<Tensor>{x}, 0));
  CHECK(test::golden_problem("simplified_views.txt", simplified(graph)) == "");
}

TEST_CASE("the argmax of a negation is an argmin, and the other way around, but not among integers") {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kU8}) {
    for (const bool is_max : {false, true}) {
      GraphBuilder graph("negated");
      const Tensor negated = -graph.input("x", dtype, {2, 3});
      graph.output("y", is_max ? argmax(negated, 1) : argmin(negated, 1));
      const std::string text = simplified(graph);
      CAPTURE(text);
      const bool is_turned = is_float(dtype);
      CHECK((text.find(" neg(") == std::string::npos) == is_turned);
      CHECK((text.find("argmin") != std::string::npos) == (is_max == is_turned));
    }
  }
}

TEST_CASE("an argmax of a negation picks NaN, then the first lowest element, whatever the sign of a zero") {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const float rows[][4] = {{3, -1, 2, -1}, {1, kNaN, -5, kNaN}, {0.0f, -0.0f, 1, 2}, {-0.0f, 0.0f, 1, -0.0f}};
  const std::int64_t expected[] = {1, 1, 0, 0};
  GraphBuilder graph("negated");
  graph.output("y", argmax(-graph.input("x", DType::kF32, {4, 4}), 1));
  Session session = Session::create(compile(graph.finish().value()).value()).value();
  std::int64_t found[4] = {};
  REQUIRE(session.run({bind("x", std::span(&rows[0][0], 16))}, {bind("y", found)}).message() == "");
  for (int row = 0; row < 4; ++row) CHECK(found[row] == expected[row]);
}

TEST_CASE("algebra reads through broadcast constants") {
  GraphBuilder graph("algebra");
  Tensor x = graph.input("x", DType::kF32, {2, 3});
  graph.output("y", -(-(x * 1.0)) / 1.0 - 0.0);
  graph.output("kept", x + 0.0);
  CHECK(test::golden_problem("simplified_algebra.txt", simplified(graph)) == "");
}

}  // namespace
}  // namespace millrace
