// SPDX-License-Identifier: Apache-2.0
// Why two neighbours are not one dispatch: the edge, the rule, and the remedy.
#include <set>

#include <doctest/doctest.h>

#include "tests/graph/dispatch/formed.h"
#include "tests/support/random/random_graph.h"

namespace millrace {
namespace {

/// All of them, one per line.
std::string separations_of(GraphBuilder& graph) {
  const DispatchGraph dispatch = formed(graph);
  std::string text;
  for (const Separation& edge : dispatch.separations) text += to_text(dispatch.graph, edge) + "\n";
  return text;
}

TEST_CASE("no separation is reported if all nodes are one dispatch") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {4, 8});
  graph.output("y", sqrt(reduce_sum(abs(transpose(x, {1, 0})), {0})));
  CHECK(separations_of(graph) == "");
}

TEST_CASE("a view between two nodes is named") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {8, 8});
  graph.output("y", exp(transpose(exp(x), {1, 0})));
  const Tensor reshaped = reshape(sin(x), {64});
  graph.output("z", reshaped + cos(graph.input("w", DType::kF32, {64})));
  CHECK(
      separations_of(graph) ==
      "%1 -> %3: %3 = exp reads it through %2 = transpose at other points; move the view before %1 or after %3\n"
      "%4 -> %8: %8 = add reads it through %5 = reshape, which shares its memory; move the reshape before %4 or after "
      "%8\n");
}

TEST_CASE("elements that are broadcast are named as such") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {8, 8}), z = graph.input("z", DType::kF32, {8, 1});
  graph.output("y", x - broadcast_to(exp(z), {8, 8}));
  CHECK(separations_of(graph) ==
        "%2 -> %4: %4 = sub needs each element at several points, because of %3 = broadcast; if %2 is a reduction's "
        "result, reading it only in its own row would help; otherwise broadcast before %2\n");
}

TEST_CASE("nodes that only read memory, and nodes without an epilogue, are named") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {8, 8}), w = graph.input("w", DType::kF32, {8, 8});
  graph.output("y", matmul(exp(x), w));
  graph.output("z", -sort(x).values);
  CHECK(separations_of(graph) ==
        "%2 -> %3: %3 = dot can only load this operand from memory; move the operand's work after %3 = dot, if the "
        "result is the same\n"
        "%4.0 -> %5: the kernel of %4 = sort can fuse nothing after it; move the reader's work before %4 = sort, if "
        "the result is the same\n");
}

TEST_CASE("two nodes that each need a kernel are named") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {8, 8}), w = graph.input("w", DType::kF32, {8, 8});
  const Tensor left = matmul(x, w), right = matmul(w, x);  // in one expression, compilers choose the order
  graph.output("sum", left * right);
  CHECK(separations_of(graph) ==
        "%3 -> %4: a kernel holds only one of %3 = dot and %2 = dot; only a single op that does both would help\n");
}

TEST_CASE("a reduction that takes no product in its term says so") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {8, 8}), w = graph.input("w", DType::kF32, {8, 8});
  graph.output("maximum", reduce_max(tanh(matmul(x, w)), {0}));
  CHECK(separations_of(graph) ==
        "%3 -> %4: %4 = reduce_max fuses elementwise nodes into its loop, and %2 = dot is not one; only a single op "
        "that does both "
        "would help\n");
}

TEST_CASE("an output, and another reader, keep a value in memory") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {8, 8});
  const Tensor e = exp(x), s = sin(x);
  graph.output("e", e);
  graph.output("sums", cumulative_sum(e));
  graph.output("first", cumulative_sum(s));
  graph.output("second", sort(s).values);
  CHECK(
      separations_of(graph) ==
      "%1 -> %3: %1 = exp is an output or a variable's new value, so it is in memory anyway; leave out that output or "
      "update\n"
      "%2 -> %4: %5 = sort reads it too, so it is in memory anyway; nothing helps while it does\n"
      "%2 -> %5.0: %4 = cumulative_sum reads it too, so it is in memory anyway; nothing helps while it does\n");
}

TEST_CASE("a softmax's second reading of its exponents is named") {
  GraphBuilder graph;
  const Tensor e = exp(graph.input("x", DType::kF32, {4, 1}));
  graph.output("y", e * reduce_sum(e, {1}, true));
  CHECK(separations_of(graph) ==
        "%1 -> %2: %3 = mul reads it too, so it is in memory anyway; nothing helps while it does\n"
        "%1 -> %3: %2 = reduce_sum is between the two: it reads one, and the other needs it; only a different formula "
        "would help\n");
}

TEST_CASE("a value that a third dispatch needs first is named") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {4, 4});
  const Tensor e = exp(x);
  graph.output("y", e + sort(sin(sort(e).values)).values);
  graph.output("both", abs(e) + transpose(abs(e), {1, 0}));
  CHECK(separations_of(graph) ==
        "%1 -> %2.0: %5 = add reads it too, so it is in memory anyway; nothing helps while it does\n"
        "%2.0 -> %3: the kernel of %2 = sort can fuse nothing after it; move the reader's work before %2 = sort, if "
        "the result is the same\n"
        "%1 -> %5: %2 = sort is between the two: it reads one, and the other needs it; only a different formula would "
        "help\n"
        "%4.0 -> %5: the kernel of %4 = sort can fuse nothing after it; move the reader's work before %4 = sort, if "
        "the result is the same\n"
        "%6 -> %8: %8 = add reads it through %7 = transpose at other points; move the view before %6 or after %8\n");
}

TEST_CASE("a view with a dispatch of its own is named") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {4, 64});
  graph.output("columns", sort(transpose(x, {1, 0})).values);
  CHECK(separations_of(graph) ==
        "%1 -> %2.0: %2 = sort reads whole rows, and %1 = transpose makes rows of elements that may be far apart; only "
        "memory in that order would help\n");
}

TEST_CASE("a view that is stored between two nodes is named") {
  GraphBuilder graph;
  const Tensor sum = reduce_sum(graph.input("x", DType::kF32, {8, 8, 8}), {2}), transposed = transpose(sum, {1, 0});
  graph.output("transposed", transposed);
  graph.output("y", transposed + sum);
  CHECK(separations_of(graph) ==
        "%1 -> %2: %2 = transpose can only load this operand from memory; move the operand's work after "
        "%2 = transpose, if the result is the same\n"
        "%1 -> %3: %3 = add reads it through %2 = transpose at other points; move the view before %1 or after %3\n");
}

TEST_CASE("operands that a convolution reads at its own points are named") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {1, 3, 8, 8}), w = graph.input("w", DType::kF32, {3, 3, 3, 3});
  const Tensor e = exp(x);
  graph.output("y", conv2d(e, w, {.padding = {1, 1, 1, 1}}) + e);
  CHECK(separations_of(graph) ==
        "%2 -> %3: %3 = conv2d can only load this operand from memory; move the operand's work after %3 = conv2d, if "
        "the result is the same\n"
        "%2 -> %4: %3 = conv2d reads it at other points, from memory; nothing helps while it does\n");
}

TEST_CASE("nothing is joined with a loop") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {8});
  const std::vector<Tensor> last = graph.while_loop(
      {exp(x)}, [](std::span<const Tensor> s) { return less(reduce_sum(s[0], {0}), 100); },
      [](std::span<const Tensor> s) { return std::vector<Tensor>{s[0] * s[0]}; });
  graph.output("y", -last[0]);
  CHECK(separations_of(graph) ==
        "%1 -> %5: the host decides what %5 = while runs, so nothing is joined with it\n"
        "%4 -> %5: the host decides what %5 = while runs, so nothing is joined with it\n"
        "%5 -> %6: the host decides what %5 = while runs, so nothing is joined with it\n");
}

TEST_CASE("a limit of nodes is named with both numbers") {
  GraphBuilder graph;
  Tensor x = graph.input("x", DType::kF32, {4});
  for (int i = 0; i < 65; ++i) x = sqrt(abs(x));
  graph.output("y", x);
  CHECK(separations_of(graph) ==
        "%128 -> %129: they have 129 nodes together, expected at most 128; fewer nodes would help, but one more pass "
        "over memory is cheap by comparison\n");
}

TEST_CASE("a limit of instructions is named with both numbers") {
  GraphBuilder graph;
  Tensor x = graph.input("x", DType::kF64, {4});
  for (int i = 0; i < 20; ++i) x = sin(x);
  graph.output("y", x);
  const DispatchGraph dispatch = formed(graph);
  REQUIRE(dispatch.separations.size() > 2);
  for (const Separation& edge : dispatch.separations) {
    CHECK(edge.obstacle == JoinObstacle::kTooManyInstructions);
    CHECK(edge.found > edge.limit);
    CHECK(to_text(dispatch.graph, edge)
              .find(": they take about " + std::to_string(edge.found) + " instructions together, expected at most " +
                    std::to_string(edge.limit) +
                    "; simpler functions would help, but one more pass over memory is cheap by comparison") !=
          std::string::npos);
  }
}

TEST_CASE("every value that a dispatch reads from another has its reason") {
  for (std::uint64_t seed = 1; seed <= test::kTestedGraphs; ++seed) {
    CAPTURE(seed);
    const DispatchGraph dispatch = formed(test::make_random_graph(seed).graph);
    std::set<Value> stored;
    for (const Region& region : dispatch.regions) stored.insert(region.outputs.begin(), region.outputs.end());
    for (const Region& region : dispatch.regions) {
      for (const Value& input : region.inputs) {
        const Value storage = dispatch.storage_of(input);
        if (!stored.contains(storage)) continue;
        const bool is_told = std::ranges::any_of(dispatch.separations, [&](const Separation& edge) {
          return dispatch.storage_of(edge.value) == storage &&
                 std::ranges::find(region.nodes, edge.reader) != region.nodes.end();
        });
        CHECK_MESSAGE(is_told, value_text(dispatch.graph, input), " in ", region.name);
      }
    }
    for (const Separation& edge : dispatch.separations) CHECK(to_text(dispatch.graph, edge).size() > 20);
  }
}

}  // namespace
}  // namespace millrace
