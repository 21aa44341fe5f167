// SPDX-License-Identifier: Apache-2.0
// The names that a text gives to values: kept by the graph, by the passes, and in the messages of a run.
#include <doctest/doctest.h>

#include "millrace/graph/compile_report.h"
#include "millrace/millrace.h"
#include "tests/support/golden.h"
#include "tests/support/graphs/round_trip.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

constexpr const char* kNamed =
    "graph named(%x: f32[n], %i: i32[2]) {\n"
    "  %values, %\"the indices\" = topk(%x) {k = 3, axis = 0, largest = true, sorted = true} : f32[3], i64[3]\n"
    "  %picked = gather(%values, %i) {axis = 0} : f32[2]\n"
    "  return picked = %picked\n"
    "}\n";

TEST_CASE("names of results come back as they were, strings too") {
  const Graph graph = parse_graph(kNamed).value();
  CHECK(to_text(graph) == kNamed);
  CHECK(round_trip_problem(graph) == "");
  CHECK(node_text(graph, NodeId{2}) == "%values, %\"the indices\" = topk");
  CHECK(value_text(graph, {NodeId{2}, 1}) == "%\"the indices\"");
}

TEST_CASE("numbers are not names: they are assigned anew, and a node's number is never another node's name") {
  const Graph graph = parse_graph(
                          "graph g(%x: f32[4]) {\n"
                          "  %7 = exp(%x)\n"
                          "  %\"1\" = log(%7)\n"
                          "  %a, %3.1 = topk(%7) {k = 1}\n"
                          "  return y = %\"1\", z = %a\n"
                          "}\n")
                          .value();
  CHECK(test::golden_problem("named_anew.txt", to_text(graph)) == "");
}

TEST_CASE("a value keeps its name in the passes, whatever comes to compute it") {
  Graph graph = parse_graph(
                    "graph g(%x: f32[2x3]) {\n"
                    "  %one = constant(1) : f32[]\n"
                    "  %two = add(%one, %one)\n"
                    "  %twos = broadcast(%two) {shape = [2, 3], dims = []}\n"
                    "  %transposed = transpose(%x) {permutation = [1, 0]}\n"
                    "  %back = transpose(%transposed) {permutation = [1, 0]}\n"
                    "  %scaled = mul(%back, %twos)\n"
                    "  %again = mul(%x, %twos)\n"
                    "  %root = sqrt(%again)\n"
                    "  return scaled = %scaled, root = %root\n"
                    "}\n")
                    .value();
  REQUIRE(run_passes(graph, kGraphPasses).ok());
  CHECK(test::golden_problem("named_after_passes.txt", to_text(graph)) == "");
}

TEST_CASE("a run names values as the text does") {
  CompileOptions options;
  options.context = test::test_context();
  const Program program = compile(parse_graph(kNamed).value(), options).value();
  Session session = Session::create(program).value();
  std::array<float, 3> x{1, 2, 3};
  std::array<std::int32_t, 2> i{0, 3};
  std::array<float, 2> y{};
  const auto run = [&](std::int64_t n) {
    return session
        .run(std::array{bind(std::span(x).first(static_cast<std::size_t>(n)), {n}), bind(i)}, std::array{bind(y)})
        .message();
  };
  CHECK(run(2) == "run: %values, %\"the indices\" = topk needs 3 <= n, found 3 and 2 with n = 2; bind other sizes");
  CHECK(run(3) ==
        "run: %picked = gather: index 3 at [1] of operand 1, %i of i32[2], is outside axis 0 of operand 0, %values "
        "of f32[3]; give -3 to 2");
}

TEST_CASE("verify finds a wrong number of names, and names that are taken") {
  Graph graph = parse_graph(kNamed).value();
  graph.nodes[NodeId{2}].names = {"values"};
  graph.nodes[NodeId{3}].names = {"x"};
  CHECK(verify(graph).message() ==
        "%2 = topk: has 1 names, expected 2, one per result, or none; name all or none\n"
        "%3 = gather: the name 'x' is taken; give every value its own");
}

}  // namespace
}  // namespace millrace
