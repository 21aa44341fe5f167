// SPDX-License-Identifier: Apache-2.0
// How the arguments of a run are bound: by order and by name, from every kind of container.
#include <array>
#include <functional>  // with std::bind, which must not be taken for ours
#include <vector>

#include <doctest/doctest.h>

#include "millrace/millrace.h"

namespace millrace {
namespace {

/// y = x - w, z = x * s.
Session make_session() {
  GraphBuilder graph;
  Tensor x = graph.input("x", DType::kF32, {2, 2});
  Tensor w = graph.input("w", DType::kF32, {2});
  Tensor s = graph.input("s", DType::kF32, {});
  graph.output("y", x - w);
  graph.output("z", x * s);
  return Session::create(compile(graph.finish().value()).value()).value();
}

constexpr std::array<float, 4> kY{-9, -18, -7, -16}, kZ{2, 4, 6, 8};

TEST_CASE("a run takes braced lists of C arrays, scalars, spans of fixed extent and temporaries") {
  Session session = make_session();
  const float x[2][2] = {{1, 2}, {3, 4}};
  std::array<float, 4> y{}, z{};
  CHECK(session.run({bind(x), bind(std::vector<float>{10, 20}), bind(2.0f)}, {bind(std::span<float, 4>(y)), bind(z)})
            .message() == "");
  CHECK(y == kY);
  CHECK(z == kZ);
}

TEST_CASE("arguments are bound by name, in any order, with dims by name too") {
  Session session = make_session();
  const std::vector<float> x{1, 2, 3, 4}, w{10, 20};
  const float s = 2;
  std::array<float, 4> y{}, z{};
  for (int i = 0; i < 2; ++i) {
    y = z = {};
    CHECK(session.run({bind("s", s), bind("x", x), bind("w", w)}, {bind("z", z), bind("y", y)}).message() == "");
    CHECK(y == kY);
    CHECK(z == kZ);
  }
  CHECK(session.run({bind("s", s), bind("x", x), bind("w", w)}, {bind(y), bind(z)}).message() == "");

  GraphBuilder graph;
  const Dim k = Dim("k").at_most(3), n("n");
  graph.output("top", topk(graph.input("x", DType::kF32, {n}), k).values);
  Session dynamic = Session::create(compile(graph.finish().value()).value()).value();
  std::array<float, 2> top{};
  CHECK(dynamic.run({bind("x", x, {4})}, {bind("top", top)}, {{"k", 2}}).message() == "");
  CHECK(top == std::array<float, 2>{4, 3});
}

TEST_CASE("names that are wrong, double or missing are refused") {
  Session session = make_session();
  const std::vector<float> x{1, 2, 3, 4}, w{10, 20};
  const float s = 2;
  std::array<float, 4> y{}, z{};
  CHECK(session.run({bind("s", s), bind("v", x), bind("w", w)}, {bind(y), bind(z)}).message() ==
        "run: the program has no input 'v'; it has: x, w, s");
  CHECK(session.run({bind("x", x), bind("x", x), bind("w", w)}, {bind(y), bind(z)}).message() ==
        "run: input 'x' is bound twice; bind each once");
  CHECK(session.run({bind("x", x), bind(w), bind("s", s)}, {bind(y), bind(z)}).message() ==
        "run: input 1 has no name, but others have one; bind all inputs by name, or all in the program's order");
  CHECK(session.run({bind(x), bind(w), bind(s)}, {bind(y), bind("q", z)}).message() ==
        "run: output 0 has no name, but others have one; bind all outputs by name, or all in the program's "
        "order");
}

TEST_CASE("an output that is const is refused") {
  Session session = make_session();
  const std::vector<float> x{1, 2, 3, 4}, w{10, 20}, y(4);
  std::array<float, 4> z{};
  CHECK(session.run({bind(x), bind(w), bind(2.0f)}, {bind(y), bind(z)}).message() ==
        "run: output 'y' is bound to const elements, expected writable ones; bind memory that is not const");
}

TEST_CASE("constants are made from vectors, arrays and spans") {
  GraphBuilder graph;
  const std::array<std::int32_t, 2> two{1, 2};
  Tensor sum = graph.constant({2}, std::vector<std::int32_t>{10, 20}) + graph.constant({2}, two);
  graph.output("y", sum + graph.constant<std::int32_t>({2}, two));
  Session session = Session::create(compile(graph.finish().value()).value()).value();
  std::int32_t y[2];
  CHECK(session.run({}, {bind(y)}).message() == "");
  CHECK(y[0] == 12);
  CHECK(y[1] == 24);
}

TEST_CASE("constants and variables are made from C arrays of any rank, and from lists") {
  const float row[] = {1, 2, 3};
  const std::int8_t square[2][2] = {{1, 2}, {3, 4}};
  GraphBuilder graph("lists");
  graph.output("row", graph.constant({3}, row));
  graph.output("square", graph.constant({2, 2}, square));
  graph.output("list", graph.constant({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}));
  graph.output("converted", graph.constant<double>({3}, {1, 2, 3}));
  graph.output("integers", graph.constant({2}, {7, 8}));
  graph.output("flags", graph.constant({2}, {true, false}));
  graph.output("scalar", graph.constant({}, {2.5}));
  graph.output("kept", graph.variable("kept", {3}, row));
  graph.output("listed", graph.variable("listed", {2}, {1.5f, 2.5f}));
  CHECK(to_text(graph.finish().value()) ==
        "graph lists() {\n"
        "  %0 = constant(1, 2, 3) : f32[3]\n"
        "  %1 = constant(1, 2, 3, 4) : i8[2x2]\n"
        "  %2 = constant(1, 2, 3, 4) : f32[2x2]\n"
        "  %3 = constant(1, 2, 3) : f64[3]\n"
        "  %4 = constant(7, 8) : i32[2]\n"
        "  %5 = constant(true, false) : bool[2]\n"
        "  %6 = constant(2.5) : f64[]\n"
        "  %kept = variable(1, 2, 3) : f32[3]\n"
        "  %listed = variable(1.5, 2.5) : f32[2]\n"
        "  return row = %0, square = %1, list = %2, converted = %3, integers = %4, flags = %5, scalar = %6, "
        "kept = %kept, listed = %listed\n"
        "}\n");
}

TEST_CASE("the comparison operators of C++ build nodes, with tensors and numbers on either side") {
  GraphBuilder graph("compared");
  const Tensor x = graph.input("x", DType::kI64, {4}), y = graph.input("y", DType::kI64, {4});
  const std::pair<Tensor, Tensor> pairs[] = {
      {x < y, less(x, y)},           {x < 3, less(x, 3)},           {3 < x, less(3, x)},
      {x <= y, less_equal(x, y)},    {x <= 3, less_equal(x, 3)},    {3 <= x, less_equal(3, x)},
      {x > y, greater(x, y)},        {x > 3, greater(x, 3)},        {3 > x, greater(3, x)},
      {x >= y, greater_equal(x, y)}, {x >= 3, greater_equal(x, 3)}, {3 >= x, greater_equal(3, x)}};
  for (const auto& [written, called] : pairs) {
    REQUIRE(written.is_valid());
    const Node &found = graph.graph().nodes[written.value().node], &expected = graph.graph().nodes[called.value().node];
    CHECK(std::get<OpNode>(found.what) == std::get<OpNode>(expected.what));
    // A number's constant is made anew for each.
    const auto is_number = [](Value operand) { return index_of(operand.node) >= 2; };
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(is_number(found.operands[i]) == is_number(expected.operands[i]));
      if (!is_number(found.operands[i])) CHECK(found.operands[i] == expected.operands[i]);
    }
  }
}

}  // namespace
}  // namespace millrace
