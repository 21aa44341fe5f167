// SPDX-License-Identifier: Apache-2.0
// Variables in graphs: the builder, the text and the verifier, and their messages about mistakes.
#include <array>
#include <functional>

#include <doctest/doctest.h>

#include "millrace/graph/compile_report.h"
#include "millrace/graph/passes.h"
#include "millrace/millrace.h"
#include "tests/jit/cache/temporary_directory.h"
#include "tests/support/graphs/round_trip.h"

namespace millrace {
namespace {

const TensorType kFour{DType::kF32, {4}};

std::string complaint(const std::function<void(GraphBuilder&)>& build) {
  GraphBuilder graph;
  build(graph);
  return graph.finish().status().message();
}

Graph counter() {
  GraphBuilder graph("counter");
  const Tensor x = graph.input("x", DType::kF32, {4}), sum = graph.variable("sum", kFour, 0.5);
  const Tensor total = sum + x;
  graph.update(sum, total);
  graph.output("before", sum);
  return graph.finish().value();
}

TEST_CASE("the text of a graph has its variables and updates, and reads back") {
  const Graph graph = counter();
  CHECK(to_text(graph) ==
        "graph counter(%x: f32[4]) {\n"
        "  %sum = variable(0.5) : f32[4]\n"
        "  %2 = add(%sum, %x) : f32[4]\n"
        "  update %sum = %2\n"
        "  return before = %sum\n"
        "}\n");
  CHECK(round_trip_problem(graph, {}) == "");
}

TEST_CASE("a variable begins with one element for all, listed elements, bytes, or none if it is empty") {
  GraphBuilder graph("all");
  std::vector<float> many(40);
  many[1] = 1;
  const Tensor one = graph.variable("one", {DType::kBF16, {3, 5}}, -1);
  graph.variable("listed", {2, 1}, std::array<std::int64_t, 2>{7, -8});
  const Tensor bytes = graph.variable("bytes", {40}, many);
  graph.variable("nothing", {0}, std::array<float, 0>{});
  graph.update(one, one);
  graph.output("y", bytes);
  const Graph built = graph.finish().value();
  CHECK(round_trip_problem(built, {}) == "");
  CHECK(to_text(built).find("%one = variable(-1) : bf16[3x5]\n  %listed = variable(7, -8) : i64[2x1]\n") !=
        std::string::npos);
}

TEST_CASE("a graph may have updates and no output") {
  const Graph graph =
      parse_graph("graph g(%x: f32[4]) { %v = variable(1, 2, 3, 4) : f32[4] update %v = %x return }").value();
  CHECK(graph.outputs.empty());
  CHECK(round_trip_problem(graph, {}) == "");
}

TEST_CASE("a graph's file keeps the initial value of a large variable next to the text") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/state.mr";
  std::vector<float> elements(40);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i);
  GraphBuilder graph("state");
  graph.output("all", graph.variable("all", {40}, elements));
  graph.output("zeros", graph.variable("zeros", {DType::kF32, {1000}}));
  const Graph built = graph.finish().value();
  REQUIRE(write_graph(built, path).message() == "");
  CHECK(Safetensors::read(path + ".safetensors").value().entries().size() == 1);
  CHECK(graph_difference(read_graph(path).value(), built) == "");
}

TEST_CASE("the builder names the variable and its mistake") {
  CHECK(complaint([](GraphBuilder& graph) {
          graph.variable("v", kFour);
          graph.variable("v", kFour);
        }) == "%1 = variable 'v': the name is taken; give every variable its own");
  CHECK(complaint([](GraphBuilder& graph) {
          graph.input("v", DType::kF32, {4});
          graph.variable("v", kFour);
        }) == "%1 = variable 'v': the name is taken; give every variable its own");
  CHECK(complaint([](GraphBuilder& graph) {
          graph.variable("v", kFour);
          graph.input("v", DType::kF32, {4});
        }) == "%1 = input 'v': the name is taken; give every input its own");
  CHECK(complaint([](GraphBuilder& graph) { graph.variable("", kFour); }) ==
        "%0 = variable '': the name is empty; give every variable a name");
  CHECK(complaint([](GraphBuilder& graph) { graph.variable("v", {DType::kF32, {Dim("n").at_most(8), 2}}); }) ==
        "%0 = variable 'v': the type is f32[n, 2], expected dims that are numbers, as a session allocates it before a "
        "run; give the maximum");
  CHECK(complaint([](GraphBuilder& graph) { graph.variable("v", {4}, std::array<float, 3>{}); }) ==
        "%0 = variable 'v': begins with 12 bytes, expected 16 for f32[4], or the 4 of one element; give every element "
        "once");
}

TEST_CASE("the builder names the update and its mistake") {
  CHECK(complaint([](GraphBuilder& graph) {
          const Tensor x = graph.input("x", DType::kF32, {4});
          graph.update(x, x);
        }) == "update of %0 = input, which is not a variable; name one");
  CHECK(complaint([](GraphBuilder& graph) {
          const Tensor v = graph.variable("v", kFour);
          graph.update(v, v * 2);
          graph.update(v, v);
        }) == "update of %v: the variable already has an update, expected at most one; keep the last");
  CHECK(complaint([](GraphBuilder& graph) {
          const Tensor v = graph.variable("v", kFour);
          graph.update(v, graph.input("x", DType::kF32, {5}));
        }) == "update of %v: %x is f32[5], expected f32[4]; cast or reshape it");
  CHECK(complaint([](GraphBuilder& graph) { graph.update(graph.variable("v", kFour), {}); }) ==
        "update: the value is an empty tensor; use one that a builder returned");
  CHECK(complaint([](GraphBuilder& graph) { graph.variable("v", kFour); }) ==
        "the graph has no output; name what it computes with output()");
}

TEST_CASE("the parser names the place of a mistake about variables") {
  const auto message = [](const std::string& text) { return parse_graph(text, {.name = "g"}).status().message(); };
  CHECK(message("graph g(%x: f32[2]) { %v = variable(1, 2) : f32[2]\n update %x = %v return }") ==
        "g:2:9: update of %0 = input, which is not a variable; name one\n"
        " update %x = %v return }\n"
        "        ^");
  CHECK(message("graph g(%x: f32[2]) { %v = variable(1, 2) : f32[2]\n update %v = %x update %v = %v return }") ==
        "g:2:24: update of %v: the variable already has an update, expected at most one; keep the last\n"
        " update %v = %x update %v = %v return }\n"
        "                       ^");
  CHECK(message("graph g(%x: f32[3]) { %v = variable(0) : f32[2]\n update %v = %x return }") ==
        "g:2:9: update of %v: %x is f32[3], expected f32[2]; cast or reshape it\n"
        " update %v = %x return }\n"
        "        ^");
  CHECK(message("graph g() {\n %v = variable(0, 1, 2) : f32[2] return y = %v }") ==
        "g:2:16: found 3 elements, expected 2 for f32[2]; give every element once\n"
        " %v = variable(0, 1, 2) : f32[2] return y = %v }\n"
        "               ^");
  CHECK(message("graph g() {\n %v = variable(0) : f32[n in 1..4] return y = %v }") ==
        "g:2:21: found f32[n], expected dims that are numbers, as it is a variable; give numbers\n"
        " %v = variable(0) : f32[n in 1..4] return y = %v }\n"
        "                    ^");
  CHECK(message("graph g(%x: f32[2]) {\n %x = variable(0) : f32[2] return y = %x }") ==
        "g:2:2: found '%x' again, expected a name that is not taken; rename it\n"
        " %x = variable(0) : f32[2] return y = %x ...\n"
        " ^");
  CHECK(message("graph g() { %v = variable(0) : f32[2]\n update %v : %v return }") ==
        "g:2:12: found ':', expected '='; say the variable's new value\n"
        " update %v : %v return }\n"
        "           ^");
}

TEST_CASE("verify names each variable and update that breaks a rule") {
  const auto broken = [](const std::function<void(Graph&)>& change) {
    Graph graph = counter();
    change(graph);
    return verify(graph).message();
  };
  const auto variable = [](Graph& graph) -> VariableNode& {
    return std::get<VariableNode>(graph.nodes[NodeId{1}].what);
  };
  CHECK(broken([](Graph&) {}) == "");
  CHECK(broken([&](Graph& graph) { variable(graph).name = "x"; }) ==
        "%1 = variable: the name 'x' is taken; give every variable its own");
  CHECK(broken([&](Graph& graph) { variable(graph).name = ""; }) ==
        "%1 = variable: the name is empty; give every variable a name");
  CHECK(broken([&](Graph& graph) { variable(graph).initial = std::vector<std::byte>(8); }) ==
        "%sum = variable: begins with 8 bytes, expected 16 for f32[4], or the 4 of one element; give every element "
        "once");
  CHECK(broken([&](Graph& graph) { graph.nodes[NodeId{1}].operands = {{NodeId{0}, 0}}; }) ==
        "%sum = variable: has 1 operands, expected none; remove them");
  CHECK(broken([](Graph& graph) { graph.updates.push_back(graph.updates[0]); }) ==
        "update of %sum: the variable already has an update, expected at most one; keep the last");
  CHECK(broken([](Graph& graph) { graph.updates[0].variable = NodeId{9}; }) ==
        "update of %9, which the graph does not have; name a variable");
  CHECK(broken([](Graph& graph) { graph.updates[0].variable = NodeId{2}; }) ==
        "update of %2 = add, which is not a variable; name one");
  CHECK(broken([](Graph& graph) { graph.updates[0].value = {NodeId{2}, 1}; }) ==
        "update of %sum: is result 1 of %2, which the graph does not have; name one that it has");
}

TEST_CASE("passes keep variables, even equal and unread ones, and the nodes that updates need") {
  Graph graph = parse_graph(R"(graph g(%x: f32[2]) {
  %a = variable(0) : f32[2]
  %b = variable(0) : f32[2]
  %unused = variable(0) : f32[2]
  %one = constant(1, 1) : f32[2]
  %product = mul(%x, %one)
  %sum = add(%a, %product)
  %dead = add(%b, %x)
  update %a = %sum
  return y = %b
})")
                    .value();
  run_passes(graph, kGraphPasses).value();
  CHECK(to_text(graph) == R"(graph g(%x: f32[2]) {
  %a = variable(0) : f32[2]
  %b = variable(0) : f32[2]
  %unused = variable(0) : f32[2]
  %sum = add(%a, %x) : f32[2]
  update %a = %sum
  return y = %b
}
)");
}

TEST_CASE("a signature and a program list the variables in the graph's order") {
  const Signature signature = Signature::of(counter()).value();
  REQUIRE(signature.variables().size() == 1);
  CHECK(signature.variables()[0].name == "sum");
  CHECK(signature.variables()[0].type == kFour);
}

}  // namespace
}  // namespace millrace
