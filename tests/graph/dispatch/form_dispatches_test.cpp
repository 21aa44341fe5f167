// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/graph/dispatch/formed.h"

namespace millrace {
namespace {

TEST_CASE("a chain of elementwise nodes is one kernel, diamonds too") {
  GraphBuilder graph;
  Tensor x = graph.input("x", DType::kF32, {4, 8});
  graph.output("y", gelu(x));
  CHECK(shape_of(formed(graph)) == "broadcast mul erf broadcast add broadcast mul mul -> 1\n");
}

TEST_CASE("an elementwise value that is read elsewhere too is stored by the same kernel") {
  GraphBuilder graph;
  Tensor x = graph.input("x", DType::kF32, {4});
  Tensor e = exp(x);
  graph.output("e", e);
  graph.output("y", -e);
  CHECK(shape_of(formed(graph)) == "exp neg -> 2\n");
}

TEST_CASE("bias and activation go into the epilogue of a dot") {
  GraphBuilder graph;
  Tensor x = graph.input("x", DType::kF32, {4, 8});
  Tensor w = graph.input("w", DType::kF32, {8, 16});
  Tensor b = graph.input("b", DType::kF32, {16});
  Tensor product = matmul(x, w);
  graph.output("y", relu(product + broadcast_to(b, {4, 16})));
  CHECK(shape_of(formed(graph)) == "dot broadcast add broadcast max -> 1\n");
}

TEST_CASE("elementwise work goes into the term of the reduction that alone reads it") {
  GraphBuilder graph;
  Tensor x = graph.input("x", DType::kF32, {4, 8});
  graph.output("y", sqrt(reduce_sum(x * x, {1})));
  CHECK(shape_of(formed(graph)) == "mul reduce_sum sqrt -> 1\n");
}

TEST_CASE("elementwise work goes into the load of the sort or scan that alone reads it") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {4, 64}), b = graph.input("b", DType::kF32, {64});
  const Tensor scaled = x * 2.0, bias = broadcast_to(b, {4, 64});
  graph.output("values", topk(scaled + bias, 3).values);
  graph.output("sorted", sort(-x).values);
  graph.output("sums", cumulative_sum(x * x, {.axis = 1}));
  const DispatchGraph dispatch = formed(graph);
  CHECK(shape_of(dispatch) == "broadcast mul broadcast add topk -> 1\nneg sort -> 1\nmul cumulative_sum -> 1\n");
  const std::vector<std::string>& reasons = dispatch.regions[RegionId{0}].reasons;
  REQUIRE(reasons.size() == 2);
  CHECK(reasons[0] == "%6 at the points of %4: no store and load between them");
  CHECK(reasons[1] == "%6 in the load of %7.0, its only reader");
}

TEST_CASE("an operand that a sort does not read alone, or reads through a view, is stored first") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {4, 64});
  const Tensor e = -x;
  graph.output("e", e);
  graph.output("sorted", sort(e).values);
  const Tensor twice = abs(x);
  graph.output("first", topk(twice, 2).values);
  graph.output("last", topk(twice, 2, {.largest = false}).values);
  graph.output("columns", sort(transpose(sqrt(x), {1, 0})).values);
  graph.output("flat", sort(reshape(exp(x), {256})).values);
  CHECK(shape_of(formed(graph)) ==
        "neg -> 1\nsort -> 1\nabs -> 1\ntopk -> 1\ntopk -> 1\nsqrt -> 1\ntranspose -> 1\nsort -> 1\nexp -> "
        "1\nsort -> 1\n");
}

TEST_CASE("a long chain is cut: a kernel has at most 128 nodes") {
  GraphBuilder graph;
  Tensor x = graph.input("x", DType::kF32, {4});
  for (int i = 0; i < 300; ++i) x = sqrt(abs(x));
  graph.output("y", x);
  const DispatchGraph dispatch = formed(graph);
  std::size_t nodes = 0;
  for (const Region& region : dispatch.regions) {
    CHECK(region.nodes.size() <= 128);
    nodes += region.nodes.size();
  }
  CHECK(nodes == 600);
  CHECK(dispatch.regions.size() < 10);
}

TEST_CASE("a reduction computes an iota, and values made from it, instead of reading them from memory") {
  for (const SizeExpr& n : {SizeExpr(100), SizeExpr(Dim("n"))}) {
    GraphBuilder graph;
    Tensor x = graph.input("x", DType::kF32, {n});
    graph.output("sum", reduce_sum(iota(graph, DType::kF32, {n}, 0), {0}) + reduce_max(x, {0}));
    graph.output("squares", reduce_sum(sqrt(iota(graph, DType::kF32, {n, 3}, 0)), {0}));
    // Threads can share a single row without a bound only in a kernel of its own.
    const std::string sums =
        n.is_constant() ? "reduce_max iota reduce_sum add -> 1\n" : "reduce_max -> 1\niota reduce_sum add -> 1\n";
    CHECK(shape_of(formed(graph)) == sums + "iota sqrt reduce_sum -> 1\n");
  }
}

TEST_CASE("an iota that something else needs is stored") {
  GraphBuilder graph;
  Tensor places = iota(graph, DType::kI64, {100}, 0);
  graph.output("sum", reduce_sum(places, {0}));
  graph.output("places", places);
  CHECK(shape_of(formed(graph)) == "iota -> 1\nreduce_sum -> 1\n");
}

TEST_CASE("a reshape is not a kernel") {
  GraphBuilder graph;
  Tensor x = graph.input("x", DType::kF32, {4, 8});
  graph.output("y", reduce_sum(reshape(exp(x), {2, 16}), {1}));
  const DispatchGraph dispatch = formed(graph);
  CHECK(shape_of(dispatch) == "exp -> 1\nreduce_sum -> 1\n");
  CHECK(dispatch.aliases.size() == 1);
}

TEST_CASE("a transpose is read through, and is its own kernel if it is an output") {
  GraphBuilder graph;
  Tensor x = graph.input("x", DType::kF32, {4, 8});
  Tensor t = transpose(x, {1, 0});
  graph.output("t", t);
  graph.output("y", exp(t));
  CHECK(shape_of(formed(graph)) == "transpose exp -> 2\n");
}

TEST_CASE("a value read at its own points and through a view is stored first") {
  GraphBuilder graph;
  Tensor x = graph.input("x", DType::kF32, {8, 8});
  Tensor e = exp(x);
  graph.output("y", e + transpose(e, {1, 0}));
  CHECK(shape_of(formed(graph)) == "exp -> 1\ntranspose add -> 1\n");
}

TEST_CASE("a reduction read at its own points and through a view is stored first, though the view is stored too") {
  GraphBuilder graph;
  const Tensor sum = reduce_sum(graph.input("x", DType::kF32, {8, 8, 8}), {2}), transposed = transpose(sum, {1, 0});
  graph.output("sum", sum);
  graph.output("transposed", transposed);
  graph.output("y", transposed + sum);
  CHECK(shape_of(formed(graph)) == "reduce_sum -> 1\ntranspose add -> 2\n");
}

TEST_CASE("two nodes that meet again through a reduction are not one kernel") {
  GraphBuilder graph;
  Tensor x = graph.input("x", DType::kF32, {4, 1});
  Tensor e = exp(x);
  graph.output("y", e * reduce_sum(e, {1}, true));
  CHECK(shape_of(formed(graph)) == "exp -> 1\nreduce_sum mul -> 1\n");
}

TEST_CASE("an operand that a reduction reads at its own points is stored, though its epilogue reads it too") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {1, 3, 8, 8}), w = graph.input("w", DType::kF32, {3, 3, 3, 3});
  const Tensor e = exp(x);
  graph.output("y", conv2d(e, w, {.padding = {1, 1, 1, 1}}) + e);
  CHECK(shape_of(formed(graph)) == "exp -> 1\nconv2d add -> 1\n");
  GraphBuilder other;
  const Tensor s = exp(other.input("x", DType::kF32, {4, 1}));
  other.output("y", reduce_sum(s, {1}, true) * s);
  CHECK(shape_of(formed(other)) == "exp -> 1\nreduce_sum mul -> 1\n");
}

TEST_CASE("topk with one used result has one dispatch and stores one result") {
  GraphBuilder graph;
  Tensor x = graph.input("x", DType::kF32, {4, 64});
  graph.output("indices", topk(x, 3).indices);
  const DispatchGraph dispatch = formed(graph);
  REQUIRE(dispatch.regions.size() == 1);
  CHECK(dispatch.regions[RegionId{0}].outputs == std::vector<Value>{{dispatch.regions[RegionId{0}].nodes[0], 1}});
}

}  // namespace
}  // namespace millrace
