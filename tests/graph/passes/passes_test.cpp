// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "millrace/graph/compile_report.h"
#include "millrace/millrace.h"
#include "tests/support/golden.h"

namespace millrace {
namespace {

std::string after(Status (*pass)(Graph&), GraphBuilder& builder) {
  Graph graph = builder.finish().value();
  REQUIRE(pass(graph).message() == "");
  REQUIRE(verify(graph).message() == "");
  return to_text(graph);
}

TEST_CASE("constants fold element by element, and through views") {
  GraphBuilder graph("fold");
  Tensor x = graph.input("x", DType::kF32, {2});
  const float a[] = {1, 2, 3, 4}, b[] = {10, 20, 30, 40};
  Tensor sum = graph.constant<float>({2, 2}, a) + graph.constant<float>({2, 2}, b);
  graph.output("y", x + reshape(slice(transpose(sum, {1, 0}), {1, 0}, {2, 2}), {2}));
  Graph folded = graph.finish().value();
  REQUIRE(fold_constants(folded).ok());
  REQUIRE(eliminate_dead_nodes(folded).ok());
  CHECK(test::golden_problem("folded_constants.txt", to_text(folded)) == "");
}

TEST_CASE("a cast of constants to 16-bit floats folds to the kernel's result") {
  for (const DType to : {DType::kF16, DType::kBF16}) {
    GraphBuilder graph("fold");
    const double values[] = {1.5, -2};
    graph.output("y", cast(graph.constant<double>({2}, values), to) * 2.0);
    Graph folded = graph.finish().value();
    REQUIRE(fold_constants(folded).ok());
    REQUIRE(eliminate_dead_nodes(folded).ok());
    CHECK(to_text(folded).find("constant(1.5, -2)") != std::string::npos);
  }
}

TEST_CASE("equal nodes merge, constants by content, inputs never") {
  GraphBuilder graph("merge");
  Tensor x = graph.input("x", DType::kF32, {2});
  Tensor z = graph.input("z", DType::kF32, {2});
  graph.output("a", exp(x) * 2.0);
  graph.output("b", exp(x) * 2.0);
  graph.output("c", exp(z) * 2.0);
  CHECK(test::golden_problem("merged_nodes.txt", after(merge_equal_nodes, graph)) == "");
}

TEST_CASE("dead nodes are removed, inputs and nodes with one live result stay") {
  GraphBuilder graph("dead");
  Tensor x = graph.input("x", DType::kF32, {4});
  graph.input("unused", DType::kF32, {4});
  exp(x);
  graph.output("indices", topk(x, 2).indices);
  CHECK(after(eliminate_dead_nodes, graph) ==
        "graph dead(%x: f32[4], %unused: f32[4]) {\n"
        "  %2.0, %2.1 = topk(%x) {k = 2, axis = -1, largest = true, sorted = true} : f32[2], i64[2]\n"
        "  return indices = %2.1\n"
        "}\n");
}

TEST_CASE("a pass that breaks the graph is our error, and is named") {
  GraphBuilder builder;
  builder.output("y", exp(builder.input("x", DType::kF32, {4})));
  Graph graph = builder.finish().value();
  const GraphPass broken[] = {{"break_types", [](Graph& g) {
                                 g.nodes[NodeId{1}].results[0].dtype = DType::kI32;
                                 return Status();
                               }}};
  const auto result = run_passes(graph, broken, {.verify_each = true});
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().message() ==
        "pass break_types left a broken graph: %1 = exp: result 0 is i32[4], expected f32[4] from the operands");
}

TEST_CASE("passes are timed, and dumped if they change something") {
  GraphBuilder builder;
  builder.output("y", builder.input("x", DType::kF32, {4}) * 1.0);
  Graph graph = builder.finish().value();
  std::vector<std::string> dumped;
  const auto reports =
      run_passes(graph, kGraphPasses, {.dump = [&](std::string_view pass, const Graph&) { dumped.emplace_back(pass); }})
          .value();
  REQUIRE(reports.size() == std::size(kGraphPasses));
  CHECK(reports.back().nodes_after == 1);
  CHECK(dumped == std::vector<std::string>{"simplify_algebra", "eliminate_dead_nodes"});
}

}  // namespace
}  // namespace millrace
