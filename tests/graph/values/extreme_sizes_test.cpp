// SPDX-License-Identifier: Apache-2.0
// Sizes at the ends of int64, symbols of huge multiples, and divisors that a run makes 0.
#include <limits>

#include <doctest/doctest.h>

#include "millrace/graph/text.h"
#include "tests/graph/misuse.h"
#include "tests/support/difference.h"
#include "tests/support/graphs/round_trip.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using reference::make_tensor;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

Program compiled(GraphBuilder& builder) {
  return compile(builder.finish().value(), test::every_way_to_compile()[0]).value();
}

std::vector<double> first_output(const Program& program, const reference::Tensor& x) {
  const auto found = test::run_guarded(program, {&x, 1});
  REQUIRE_MESSAGE(found.ok(), found.status().message());
  return reference::read_all<double>((*found)[0]);
}

TEST_CASE("a slice whose step is the largest integer takes the first element") {
  const auto x = make_tensor<double>(DType::kF32, {3}, {7, 8, 9});
  for (const std::int64_t step : {kMax, kMax - 1, kMax / 2 + 1}) {
    CAPTURE(step);
    for (const SizeExpr& n : {SizeExpr(3), SizeExpr(Dim("n"))}) {
      GraphBuilder builder;
      builder.output("y", slice(f32(builder, {n}), {0}, {n}, {step}) + 1.0);
      CHECK(first_output(compiled(builder), x) == std::vector<double>{8});
    }
  }
}

TEST_CASE("symbols of huge multiples may be 0, and print as they are") {
  for (const std::int64_t multiple : {std::int64_t{1} << 40, std::int64_t{1} << 62, kMax - 1}) {
    CAPTURE(multiple);
    GraphBuilder builder;
    const SizeExpr n = Dim("n").multiple_of(multiple), m = Dim("m").multiple_of(multiple);
    Tensor x = builder.input("x", DType::kF32, {n, m, 3});
    builder.output("y", exp(x));
    builder.output("sum", reduce_sum(concat(std::vector{x, x}, 0), {0, 1}));
    const Graph graph = builder.finish().value();
    CHECK(round_trip_problem(graph) == "");
    const Program program = compile(graph, test::every_way_to_compile()[0]).value();
    const reference::Tensor empty(DType::kF32, {0, 0, 3});
    const auto found = test::run_guarded(program, {&empty, 1});
    REQUIRE_MESSAGE(found.ok(), found.status().message());
    CHECK(reference::read_all<double>((*found)[1]) == std::vector<double>{0, 0, 0});
  }
}

TEST_CASE("a divisor that a run makes 0 is an error that names it") {
  GraphBuilder builder;
  const SizeExpr n = Dim("n"), m = Dim("m");
  Tensor x = builder.input("x", DType::kF32, {n}), y = builder.input("y", DType::kF32, {m});
  builder.output("z", slice(x, {0}, {floor_div(n, m)}));
  builder.output("y", y + 1.0);
  const Program program = compiled(builder);
  const reference::Tensor inputs[] = {reference::Tensor(DType::kF32, {4}), reference::Tensor(DType::kF32, {0})};
  CHECK(test::run_guarded(program, inputs).status().message() ==
        "output types: size floor_div(n, m): divisor m is 0 with m = 0, n = 4, expected at least 1; bind other values");
}

TEST_CASE("a size that always divides by 0 is refused where it is given") {
  GraphBuilder builder;
  builder.input("x", DType::kF32, {floor_div(Dim("n"), 0)});
  CHECK(builder.status().message() ==
        "%0 = input 'x': the type is f32[floor_div(n, 0)], expected divisors of 1 or more; correct the divisor");
}

TEST_CASE("symbols may have any name except those that text reads as numbers and bools") {
  for (const char* name :
       {"in",     "multiple_of", "min",  "max", "floor_div", "ceil_div", "graph", "return", "input",    "constant",
        "kernel", "bytes",       "file", "f32", "x8",        "e5",       "_",     "a.b",    "infinity", "True"}) {
    CAPTURE(name);
    GraphBuilder builder;
    const SizeExpr n = Dim(name).at_most(64).multiple_of(2);
    Tensor x = builder.input("x", DType::kF32, {n, 2 * n, floor_div(n + 1, 3)});
    builder.output("y", topk(x, floor_div(n, 2), TopKAttrs{.axis = 0}).values);
    builder.output("n", size_of(builder, n));
    const Result<Graph> graph = builder.finish();
    REQUIRE_MESSAGE(graph.ok(), graph.status().message());
    CHECK(round_trip_problem(*graph) == "");
  }
  for (const std::string name : {"true", "false", "inf", "nan"}) {
    CAPTURE(name);
    GraphBuilder builder;
    builder.output("y", exp(builder.input("x", DType::kF32, {Dim(name)})));
    CHECK(builder.finish().status().message() ==
          "%0 = input: dim '" + name +
              "': found this name, expected one that does not read as a number or a bool; rename it\n"
              "%1 = exp: dim '" +
              name + "': found this name, expected one that does not read as a number or a bool; rename it");
    CHECK(parse_graph("graph g(%x: f32[2*" + name + "]) { return x = %x }", {.name = "g.mr"}).status().message() ==
          "g.mr:1:19: dim '" + name +
              "': found this name, expected one that does not read as a number or a bool; rename it\n"
              "graph g(%x: f32[2*" +
              name +
              "]) { return x = %x }\n"
              "                  ^");
  }
}

}  // namespace
}  // namespace millrace
