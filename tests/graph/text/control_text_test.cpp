// SPDX-License-Identifier: Apache-2.0
// Loops and conditions in graphs: the builder, the text and the verifier, and their messages about mistakes.
#include <functional>
#include <stdexcept>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/support/graphs/round_trip.h"

namespace millrace {
namespace {

using Tensors = std::vector<Tensor>;
using State = std::span<const Tensor>;

std::string complaint(const std::function<void(GraphBuilder&)>& build) {
  GraphBuilder graph;
  build(graph);
  return graph.finish().status().message();
}

/// y = x doubled until its first element is n or more.
Graph doubled() {
  GraphBuilder graph("doubled");
  const Tensor x = graph.input("x", DType::kI64, {4}), n = graph.input("n", DType::kI64, {});
  const Tensors last = graph.while_loop(
      {x}, [&](State s) { return less(reshape(slice(s[0], {0}, {1}), {}), n); },
      [&](State s) { return Tensors{s[0] + s[0]}; });
  graph.output("y", last[0]);
  return graph.finish().value();
}

TEST_CASE("the text of a graph has its loops, and reads back") {
  const Graph graph = doubled();
  CHECK(to_text(graph) ==
        "graph doubled(%x: i64[4], %n: i64[]) {\n"
        "  %2 = slice(%x) {start = [0], stop = [1], step = [1]} : i64[1]\n"
        "  %3 = reshape(%2) {shape = []} : i64[]\n"
        "  %4 = less(%3, %n) : bool[]\n"
        "  %5 = while(%4, %x, %n) {\n"
        "    graph round(%n: i64[]) {\n"
        "      %state0 = variable() : i64[4]\n"
        "      %1 = add(%state0, %state0) : i64[4]\n"
        "      %2 = slice(%1) {start = [0], stop = [1], step = [1]} : i64[1]\n"
        "      %3 = reshape(%2) {shape = []} : i64[]\n"
        "      input %n\n"
        "      %5 = less(%3, %n) : bool[]\n"
        "      update %state0 = %1\n"
        "      return again = %5\n"
        "    }\n"
        "  } : i64[4]\n"
        "  return y = %5\n"
        "}\n");
  CHECK(round_trip_problem(graph) == "");
}

TEST_CASE("branches read the same operands, in one order") {
  GraphBuilder graph("branches");
  const Tensor p = graph.input("p", DType::kBool, {}), a = graph.input("a", DType::kF32, {3}),
               b = graph.input("b", DType::kF32, {3}), c = graph.input("c", DType::kF32, {3});
  const Tensors both = graph.if_else(p, [&] { return Tensors{a + b, a}; }, [&] { return Tensors{c * a, c}; });
  graph.output("y", both[0] + both[1]);
  const Graph built = graph.finish().value();
  CHECK(round_trip_problem(built) == "");
  const Node& node = built.nodes[NodeId{4}];
  REQUIRE(std::holds_alternative<CondNode>(node.what));
  CHECK(node.operands == std::vector<Value>{{NodeId{0}, 0}, {NodeId{1}, 0}, {NodeId{2}, 0}, {NodeId{3}, 0}});
  for (const Graph* body : bodies_of(node)) {
    REQUIRE(body->inputs.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(*source_name(body->nodes[body->inputs[i]]) == std::string(1, "abc"[i]));
  }
}

TEST_CASE("loops hold loops and conditions; a graph keeps only the nodes outside them") {
  GraphBuilder graph("nested");
  const Tensor x = graph.input("x", DType::kI64, {});
  const Tensors last = graph.while_loop(
      {x, graph.fill(DType::kI64, {}, 0)}, [&](State s) { return less(s[0], 100); },
      [&](State s) {
        const Tensors inner = graph.while_loop(
            {s[0]}, [&](State t) { return less(t[0], x + s[1]); }, [&](State t) { return Tensors{t[0] * 3}; });
        const Tensors chosen =
            graph.if_else(greater(inner[0], 50), [&] { return Tensors{inner[0] + x}; }, [&] { return Tensors{s[1]}; });
        return Tensors{inner[0] + 1, s[1] + chosen[0]};
      });
  graph.output("y", last[1]);
  const Graph built = graph.finish().value();
  CHECK(round_trip_problem(built) == "");
  std::size_t loops = 0;
  for (const Node& node : built.nodes) loops += std::holds_alternative<LoopNode>(node.what) ? 1 : 0;
  CHECK(loops == 1);
  CHECK(built.nodes.size() == 5);  // x, 0, 100, x < 100, while
}

TEST_CASE("a body takes tensors of symbolic dims, and states the facts of a symbol once") {
  const Dim n = Dim("n").at_least(1).at_most(50);
  GraphBuilder graph("symbolic");
  const Tensor x = graph.input("x", DType::kF32, {n});
  const Tensors last = graph.while_loop(
      {x}, [&](State s) { return less(reduce_sum(s[0], {0}), 8); }, [&](State s) { return Tensors{s[0] + x}; });
  graph.output("y", last[0]);
  const Graph built = graph.finish().value();
  CHECK(round_trip_problem(built) == "");
  CHECK(collect_symbols(built).value().size() == 1);
}

TEST_CASE("mistakes in loops and conditions name the found and the expected values") {
  const auto loop = [](auto&& condition, auto&& body) {
    return complaint([&](GraphBuilder& graph) {
      const Tensor x = graph.input("x", DType::kF32, {4});
      const Tensors last = graph.while_loop(
          {x}, [&](State s) { return condition(graph, s[0]); }, [&](State s) { return body(graph, s[0]); });
      CHECK(last.size() == 1);
      graph.output("y", last[0]);
    });
  };
  const auto some = [](GraphBuilder&, Tensor x) { return reduce_any(less(x, 4), {0}); };
  CHECK(loop(some, [](GraphBuilder&, Tensor x) { return Tensors{x, x}; }) ==
        "%6 = while: the body returns 2 tensors, expected 1 for the next state; return one per state");
  CHECK(loop(some, [](GraphBuilder&, Tensor x) { return Tensors{reduce_sum(x, {0})}; }) ==
        "%7 = while: state 0 is f32[4] at first, and f32[] after an iteration; give it one type");
  CHECK(loop([](GraphBuilder&, Tensor x) { return x; }, [](GraphBuilder&, Tensor x) { return Tensors{x}; }) ==
        "%2 = while: operand 0 is f32[4], expected bool[], the condition; cast or reshape it");
  CHECK(loop(some, [](GraphBuilder& graph, Tensor x) { return Tensors{x + graph.input("z", DType::kF32, {4})}; }) ==
        "%6 = input 'z': found inside a loop or a branch, expected outside; move it out");
  CHECK(loop(some, [](GraphBuilder& graph, Tensor x) {
          graph.output("z", x);
          return Tensors{x};
        }) == "output 'z': found inside a loop or a branch, expected outside; move it out");
  CHECK(loop(some, [](GraphBuilder&, Tensor) { return Tensors{Tensor()}; }) ==
        "%6 = while: the next state 0 is an empty tensor; use one that a builder returned");
}

TEST_CASE("a tensor of a body does not leave it") {
  CHECK(complaint([](GraphBuilder& graph) {
          const Tensor x = graph.input("x", DType::kF32, {});
          Tensor kept;
          const Tensors last = graph.while_loop(
              {x}, [&](State s) { return less(s[0], 4); },
              [&](State s) {
                kept = s[0] * 2;
                return Tensors{kept};
              });
          CHECK(kept.type() == TensorType{DType::kF32, {}});
          graph.output("y", last[0] + kept);
        }) ==
        "%9 = add: operand 1 was made inside a loop or a branch that has ended; let the loop or the branch return "
        "it");
}

TEST_CASE("a function that throws leaves the graph as it was; finish() inside one is refused") {
  GraphBuilder graph("g");
  const Tensor x = graph.input("x", DType::kF32, {4}), p = reduce_any(less(x, 4), {0});
  const auto fail = [&](Tensor made) -> Tensors {
    exp(made);
    throw std::runtime_error("no");
  };
  CHECK_THROWS(graph.while_loop({x}, [&](State) { return p; }, [&](State s) { return fail(s[0]); }));
  CHECK_THROWS(graph.if_else(p, [&] { return fail(x); }, [&] { return Tensors{x}; }));
  CHECK_THROWS(graph.if_else(p, [&] { return Tensors{x}; }, [&] { return fail(x); }));
  CHECK_THROWS(graph.while_loop(
      {x}, [&](State) { return p; },
      [&](State s) { return graph.if_else(p, [&] { return Tensors{s[0]}; }, [&] { return fail(x); }); }));
  graph.output("y", graph.if_else(p, [&] { return Tensors{x + 1}; }, [&] { return Tensors{x}; })[0]);
  const Graph built = graph.finish().value();
  CHECK(round_trip_problem(built) == "");
  CHECK(built.nodes.size() == 6);  // x, 4, of x's shape, x < 4, any, if

  GraphBuilder early("early");
  const Tensor y = early.input("y", DType::kF32, {});
  std::string said;
  const Tensors last = early.while_loop(
      {y}, [](State s) { return less(s[0], 4); },
      [&](State s) {
        said = early.finish().status().message();
        return Tensors{s[0] + 1};
      });
  CHECK(said == "graph 'early': finish() is called inside a loop or a branch; call it after the loop or the branch");
  early.output("z", last[0]);
  CHECK(early.finish().ok());
}

TEST_CASE("branches with different types or numbers of results are refused, as are conditions that are not bool") {
  const auto branch = [](auto&& if_true, auto&& if_false, DType dtype = DType::kBool) {
    return complaint([&](GraphBuilder& graph) {
      const Tensor p = graph.input("p", dtype, {}), x = graph.input("x", DType::kF32, {4});
      const Tensors y = graph.if_else(p, [&] { return if_true(x); }, [&] { return if_false(x); });
      graph.output("y", y.empty() ? x : y[0]);
    });
  };
  const auto same = [](Tensor x) { return Tensors{x}; };
  CHECK(branch(same, [](Tensor x) { return Tensors{reduce_sum(x, {0})}; }) ==
        "%3 = if: result 0 is f32[4] in 'if_true' and f32[] in 'if_false', expected one type; cast or reshape it");
  CHECK(branch(same, [](Tensor x) { return Tensors{x, x}; }) ==
        "%2 = if: 'if_true' returns 1 values, 'if_false' 2, expected the same number; return one for each");
  CHECK(branch([](Tensor) { return Tensors{}; }, [](Tensor) { return Tensors{}; }) ==
        "%2 = if: has 0 results, expected 1 to 32; return one");
  CHECK(branch(same, same, DType::kI32) ==
        "%2 = if: operand 0 is i32[], expected bool[], the condition; cast or reshape it");
}

std::string parse_problem(const std::string& statements) {
  return parse_graph("graph g(%p: bool[], %x: f32[4]) {\n" + statements + "\nreturn y = %y }").status().message();
}

TEST_CASE("bodies nest sixteen deep, and no deeper") {
  const std::function<Tensor(GraphBuilder&, Tensor, int)> nest = [&](GraphBuilder& graph, Tensor x, int depth) {
    if (depth == 0) return x + 1;
    return graph.while_loop(
        {x}, [](State s) { return less(s[0], 5); }, [&](State s) { return Tensors{nest(graph, s[0], depth - 1)}; })[0];
  };
  const auto problem = [&](int depth) {
    return complaint(
        [&](GraphBuilder& graph) { graph.output("y", nest(graph, graph.input("x", DType::kF32, {}), depth)); });
  };
  CHECK(problem(16) == "");
  CHECK(problem(17).find(" = while: is inside 16 loops and conditions, expected at most 15; compute the inner ones "
                         "outside") != std::string::npos);
  std::string text = "graph g(%p: bool[], %x: f32[4]) {\n", end;
  for (int i = 0; i < 20000; ++i) {
    text += "%y = if(%p, %p, %x) { graph a(%p: bool[], %x: f32[4]) {\n";
    end += " return r = %y } graph b(%p: bool[], %x: f32[4]) { return r = %x } }\n";
  }
  CHECK(parse_graph(text + "%y = neg(%x)" + end + "return y = %y }")
            .status()
            .message()
            .find(":18:6: if: is inside 16 loops and conditions, expected at most 15; compute the inner ones "
                  "outside") != std::string::npos);
}

TEST_CASE("the parser names the missing part of a loop or a condition") {
  CHECK(parse_problem("%y = while(%p, %x)").find("expected '{'; write the graph of the body in braces") !=
        std::string::npos);
  CHECK(parse_problem("%y = if(%p, %x) { graph a(%x: f32[4]) { return r = %x } }").find("expected 'graph'") !=
        std::string::npos);
  CHECK(parse_problem("%y = while(%p, %x) { graph a() { %s = variable(1) : f32[4] return c = %s } }")
            .find("expected ')'; a state gets its first value from the loop's operand") != std::string::npos);
  CHECK(parse_problem("%y = while(%p, %x) { graph a() { %s = variable() : f32[4] return c = %s } }")
            .find("'a' has 1 outputs, expected one bool[] that is true to continue; return that") != std::string::npos);
  CHECK(parse_problem("%y = while(%p) { graph a() { %s = variable() : f32[4] return c = %s } }")
            .find("while: 1 operand, expected 2: the condition, 1 of state, and 0 that 'a' reads; give each once") !=
        std::string::npos);
  CHECK(parse_problem("%y = if(%p, %x) { graph a(%x: f32[4]) { return r = %x } graph b() { return r = %x } }")
            .find("expected a value that is defined above") != std::string::npos);
  CHECK(parse_problem("%y = if(%p) { graph a(%x: f32[4]) { return r = %x } graph b(%x: f32[4]) { return r = %x } }")
            .find("if: 1 operand, expected 2: the condition, and 1 that 'a' reads; give each once") !=
        std::string::npos);
  CHECK(
      parse_problem("%y = while(%p, %x) { graph a() { %s = variable() : f32[4] return } }").find("'a' has 0 outputs") !=
      std::string::npos);
}

}  // namespace
}  // namespace millrace
