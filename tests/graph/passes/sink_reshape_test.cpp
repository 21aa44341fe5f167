// SPDX-License-Identifier: Apache-2.0
// A reshape moves behind the elementwise nodes that read it, so that they join what it reshapes.
#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/passes.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/check_graph.h"

namespace millrace {
namespace {

using Build = void (*)(GraphBuilder&);

Graph graph_of(Build build) {
  GraphBuilder graph;
  build(graph);
  return graph.finish().value();
}

/// The ops after the pass, without those that nothing needs.
std::string ops_of(Build build) {
  Graph graph = graph_of(build);
  REQUIRE(simplify_algebra(graph).ok());
  REQUIRE(eliminate_dead_nodes(graph).ok());
  REQUIRE(verify(graph).message() == "");
  std::string text;
  for (const Node& node : graph.nodes) {
    if (!is_source(node)) text += kind_name(node) + " ";
  }
  return text;
}

std::size_t dispatches_of(const Graph& graph) {
  const Target target = make_default_context()->target("cpu:avx2").value();
  return lower_graph(graph, target).value().report.num_dispatches;
}

Tensor input(GraphBuilder& graph, const char* name, std::vector<SizeExpr> dims) {
  return graph.input(name, DType::kF32, Shape(std::move(dims)));
}

void relu_of_reshape(GraphBuilder& graph) { graph.output("y", relu(reshape(exp(input(graph, "x", {4, 6})), {24}))); }

void sum_with_input(GraphBuilder& graph) {
  const Tensor y = reshape(exp(input(graph, "x", {4, 6})), {2, 12});
  graph.output("y", (y + input(graph, "z", {2, 12})) * 2.0);
}

void sum_of_reshapes(GraphBuilder& graph) {
  const Tensor a = reshape(exp(input(graph, "x", {4, 6})), {24}), b = reshape(log(input(graph, "z", {4, 6})), {24});
  graph.output("y", a + b);
}

TEST_CASE("a reshape of a computed value sinks below elementwise nodes") {
  CHECK(ops_of(relu_of_reshape) == "exp broadcast max reshape ");
  CHECK(ops_of(sum_with_input) == "exp reshape add broadcast mul reshape ");
  CHECK(ops_of(sum_of_reshapes) == "exp log add reshape ");
}

TEST_CASE("a reshape stays if another operand would have to be stored in its place") {
  CHECK(ops_of([](GraphBuilder& graph) {  // computed
          const Tensor y = reshape(exp(input(graph, "x", {4, 6})), {24});
          graph.output("y", y + log(input(graph, "z", {24})));
        }) == "exp reshape log add ");
  CHECK(ops_of([](GraphBuilder& graph) {  // a broadcast along some dims
          const Tensor y = reshape(exp(input(graph, "x", {4, 6})), {2, 12});
          graph.output("y", y + input(graph, "z", {12}));
        }) == "exp reshape broadcast add ");
  CHECK(ops_of([](GraphBuilder& graph) {  // a variable, which the sum may replace in place
          const Tensor y = reshape(exp(input(graph, "x", {4, 6})), {24});
          const Tensor total = graph.variable("total", {DType::kF32, {24}});
          graph.update(total, total + y);
        }) == "exp reshape add ");
  CHECK(ops_of([](GraphBuilder& graph) {  // the kernel of a topk computes nothing after it
          graph.output("y", reshape(topk(input(graph, "x", {4, 6}), 2).values, {8}) * 2.0);
        }) == "topk reshape broadcast mul ");
  CHECK(ops_of([](GraphBuilder& graph) {  // the sum reads the reshape from memory anyway
          const Tensor y = reshape(exp(input(graph, "x", {4, 6})), {2, 12});
          graph.output("sum", reduce_sum(y, {1}));
          graph.output("squares", y * y);
        }) == "exp reshape reduce_sum mul ");
  CHECK(ops_of([](GraphBuilder& graph) {  // the reshape of an input costs nothing where it is
          graph.output("y", exp(reshape(input(graph, "x", {4, 6}), {24})));
        }) == "reshape exp ");
}

TEST_CASE("what follows a norm of groups or a product joins its kernel through the reshape") {
  GraphBuilder graph;
  const Tensor x = input(graph, "x", {2, 4, 3, 7}), residual = input(graph, "residual", {2, 4, 3, 7});
  const Tensor scale = input(graph, "scale", {4}), bias = input(graph, "bias", {4});
  graph.output("y", relu(group_norm(x, 2, scale, bias) + residual));
  const Graph norm = graph.finish().value();
  CHECK(dispatches_of(norm) == 1);
  CHECK(test::check_graph(norm, {}, {}, 1) == "");

  GraphBuilder product;
  const Tensor a = input(product, "a", {6, 8}), b = input(product, "b", {8, 10});
  product.output("y", gelu(reshape(matmul(a, b), {2, 3, 10})));
  const Graph dot = product.finish().value();
  CHECK(dispatches_of(dot) == 1);
  CHECK(test::check_graph(dot, {}, {}, 2) == "");
}

TEST_CASE("reshaped conditions and alternatives sink together, and so do those of no elements") {
  const auto choose = [](GraphBuilder& graph, Tensor x) {
    const Tensor is_large = reshape(less(graph.fill(DType::kF32, {4, 6}, 1), exp(x)), {24});
    return select(is_large, reshape(abs(x), {24}), graph.fill(DType::kF32, {24}, -1));
  };
  GraphBuilder graph;
  graph.output("y", choose(graph, input(graph, "x", {4, 6})));
  const Graph plain = graph.finish().value();
  CHECK(dispatches_of(plain) == 1);
  CHECK(test::check_graph(plain, {}, {}, 4) == "");

  GraphBuilder empty;
  empty.output("y", relu(reshape(exp(input(empty, "x", {0, 6})), {0})));
  CHECK(test::check_graph(empty.finish().value(), {}, {}, 5) == "");
}

TEST_CASE("a reshape of a size that a run binds sinks, too") {
  GraphBuilder graph;
  const SizeExpr n = Dim("n").at_least(1).at_most(100);
  const Tensor y = reshape(exp(input(graph, "x", {n, 6})), {n * 2, 3});
  graph.output("y", y * 2.0 + input(graph, "z", {n * 2, 3}));
  const Graph symbolic = graph.finish().value();
  CHECK(dispatches_of(symbolic) == 1);
  CHECK(test::check_graph(symbolic, {{"n", 5}}, {}, 3) == "");
}

}  // namespace
}  // namespace millrace
