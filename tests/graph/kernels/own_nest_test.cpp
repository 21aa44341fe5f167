// SPDX-License-Identifier: Apache-2.0
// An application's loop nests in a graph: values against plain loops, and what happens to them on the way.
#include <cmath>
#include <numeric>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/graph/dispatch/formed.h"
#include "tests/graph/kernels/own_nests.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using reference::Tensor;
using test::blur_nest;
using test::double_nest;
using test::look_up_nest;
using test::quantise_nest;
using test::rms_norm_nest;

using Numbers = std::vector<double>;

Numbers some_numbers(std::size_t count) {
  Numbers numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<double>(i * 7 % 23) - 11;
  return numbers;
}

Tensor f32(const reference::Extents& extents, const Numbers& numbers) {
  return reference::make_tensor(DType::kF32, extents, numbers);
}

/// Runs the graph in every way of compiling, and on a simulated GPU; `check` gets the outputs.
template <class F>
void run_everywhere(const Graph& graph, std::span<const Tensor> inputs, F&& check) {
  std::vector<CompileOptions> ways = test::every_way_to_compile();
  ways.push_back({.device = "sim:gfx1100", .context = test::test_context()});
  for (const CompileOptions& options : ways) {
    CAPTURE(test::to_text(options));
    const Result<Program> program = compile(graph, options);
    REQUIRE(program.status().message() == "");
    const auto found = test::run_guarded(*program, inputs);
    REQUIRE(found.status().message() == "");
    check(*found);
  }
}

void check_near(const Tensor& found, const Numbers& expected, double relative) {
  const Numbers numbers = reference::read_all<double>(found);
  REQUIRE(numbers.size() == expected.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(numbers[i] - expected[i]) <= relative * std::abs(expected[i]));
  }
}

Numbers rms_norm_of(const Numbers& x, const Numbers& scale) {
  Numbers y(x.size());
  const std::size_t columns = scale.size();
  for (std::size_t row = 0; row < x.size() / columns; ++row) {
    double sum = 0;
    for (std::size_t n = 0; n < columns; ++n) sum += x[row * columns + n] * x[row * columns + n];
    const double root = std::sqrt(sum / static_cast<double>(columns) + 1e-5);
    for (std::size_t n = 0; n < columns; ++n) y[row * columns + n] = x[row * columns + n] / root * scale[n];
  }
  return y;
}

TEST_CASE("a nest with passes is one dispatch with the elementwise nodes around it") {
  GraphBuilder graph("norm");
  const millrace::Tensor x = graph.input("x", DType::kF32, {Dim("rows"), 300});
  const millrace::Tensor scale = graph.input("scale", DType::kF32, {300});
  graph.output("y", rms_norm_nest(graph, x * 2.0, scale)[0] + x);
  const Graph built = graph.finish().value();
  CHECK(shape_of(formed(built)) == "broadcast mul kernel rms_norm add -> 1\n");
  Numbers values = some_numbers(5 * 300), scales(300), doubled = values;
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = 1.0 + static_cast<double>(i % 4);
  for (double& value : doubled) value *= 2;
  Numbers expected = rms_norm_of(doubled, scales);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += values[i];
  const Tensor inputs[] = {f32({5, 300}, values), f32({300}, scales)};
  run_everywhere(built, inputs, [&](std::span<const Tensor> found) { check_near(found[0], expected, 2e-5); });
}

TEST_CASE("results of two places: nodes after one of them join there, and after the other are apart") {
  GraphBuilder graph("q");
  const millrace::Tensor x = graph.input("x", DType::kF32, {3, 64});
  const KernelResults results = quantise_nest(graph, x, 16);
  REQUIRE(results.size() == 2);
  graph.output("q", cast(results[0], DType::kF32) * 0.5);
  graph.output("steps", results[1] * 127.0);
  const Graph built = graph.finish().value();
  CHECK(shape_of(formed(built)) == "kernel quantise cast broadcast mul -> 2\nbroadcast mul -> 1\n");
  const Numbers values = some_numbers(3 * 64);
  Numbers halves(values.size()), largest(12);
  for (std::size_t block = 0; block < largest.size(); ++block) {
    for (std::size_t i = 0; i < 16; ++i) largest[block] = std::max(largest[block], std::abs(values[block * 16 + i]));
    const float step = static_cast<float>(largest[block]) / 127.0f;
    for (std::size_t i = 0; i < 16; ++i) {
      halves[block * 16 + i] = 0.5 * std::nearbyint(static_cast<float>(values[block * 16 + i]) / step);
    }
  }
  const Tensor inputs[] = {f32({3, 64}, values)};
  run_everywhere(built, inputs, [&](std::span<const Tensor> found) {
    check_near(found[0], halves, 0);
    check_near(found[1], largest, 1e-6);
  });
}

TEST_CASE("a nest that reads neighbours keeps what it reads in memory, and takes in what follows") {
  GraphBuilder graph("blur");
  const millrace::Tensor x = graph.input("x", DType::kF32, {5, 37});
  graph.output("y", blur_nest(graph, x + 1.0)[0] * 2.0);
  const Graph built = graph.finish().value();
  CHECK(shape_of(formed(built)) == "broadcast add -> 1\nkernel blur broadcast mul -> 1\n");
  const Numbers values = some_numbers(5 * 37);
  Numbers expected(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = [&](std::size_t from, bool is_inside) { return is_inside ? values[from] + 1 : 0; };
    expected[i] = 2 * (at(i - 1, i % 37 > 0) + at(i, true) + at(i + 1, i % 37 < 36));
  }
  const Tensor inputs[] = {f32({5, 37}, values)};
  run_everywhere(built, inputs, [&](std::span<const Tensor> found) { check_near(found[0], expected, 0); });
}

TEST_CASE("an index that check_index refuses fails the run") {
  GraphBuilder graph("ids");
  const millrace::Tensor table = graph.input("table", DType::kF32, {4, 3}), ids = graph.input("ids", DType::kI64, {2});
  graph.output("y", look_up_nest(graph, table, ids)[0]);
  const Program program = compile(graph.finish().value(), {.context = test::test_context()}).value();
  const Numbers values = some_numbers(12);
  const auto run = [&](const std::vector<std::int64_t>& chosen) {
    const Tensor inputs[] = {f32({4, 3}, values), reference::make_tensor(DType::kI64, {2}, chosen)};
    return test::run_guarded(program, inputs);
  };
  check_near(run({3, 1})->front(), {values[9], values[10], values[11], values[3], values[4], values[5]}, 0);
  CHECK(run({0, 4}).status().message() ==
        "kernel 'look_up_0': index out of range; give indices within the axis that they select from");
}

TEST_CASE("a nest prints in a graph's text, and parses back") {
  GraphBuilder graph("all");
  const millrace::Tensor x = graph.input("x", DType::kF32, {Dim("rows").at_most(9), 32});
  const KernelResults results = quantise_nest(graph, x, 16);
  graph.output("q", results[0]);
  graph.output("steps", results[1]);
  graph.output("blurred", blur_nest(graph, x));
  const Graph built = graph.finish().value();
  const std::string text = to_text(built);
  INFO(text);
  const Result<Graph> parsed = parse_graph(text);
  REQUIRE(parsed.status().message() == "");
  CHECK(to_text(*parsed) == text);
}

TEST_CASE("equal nests of equal operands become one, and a nest of constants is folded") {
  GraphBuilder graph("merge");
  const millrace::Tensor x = graph.input("x", DType::kF32, {2, 8});
  const millrace::Tensor two = graph.constant({2, 8}, std::vector<float>(16, 2.0f));
  graph.output("a", blur_nest(graph, x));
  graph.output("b", blur_nest(graph, x));
  graph.output("folded", double_nest(graph, two)[0] + x);
  Graph built = graph.finish().value();
  REQUIRE(run_passes(built, kGraphPasses).ok());
  std::size_t nests = 0;
  for (const Node& node : built.nodes) nests += std::holds_alternative<NestNode>(node.what) ? 1 : 0;
  CHECK(nests == 1);
  const Numbers values = some_numbers(16);
  Numbers expected = values;
  for (double& value : expected) value += 4;
  const Tensor inputs[] = {f32({2, 8}, values)};
  run_everywhere(built, inputs, [&](std::span<const Tensor> found) { check_near(found[2], expected, 0); });
}

TEST_CASE("a nest stores in a concat, in its operand's memory, and runs in a loop") {
  GraphBuilder graph("places");
  const millrace::Tensor x = graph.input("x", DType::kF32, {4, 16});
  graph.output("joined", concat({blur_nest(graph, x)[0], double_nest(graph, x)[0]}, 0));
  const std::vector<millrace::Tensor> last = graph.while_loop(
      {graph.fill(DType::kI64, {}, 0), x}, [&](auto s) { return less(s[0], 3); },
      [&](auto s) { return std::vector<millrace::Tensor>{s[0] + 1, double_nest(graph, s[1])}; });
  graph.output("eightfold", last[1]);
  const Graph built = graph.finish().value();
  const DispatchGraph dispatch = formed(built);
  CHECK(dispatch.parts.size() == 2);
  const Numbers values = some_numbers(64);
  Numbers eightfold = values;
  for (double& value : eightfold) value *= 8;
  const Tensor inputs[] = {f32({4, 16}, values)};
  run_everywhere(built, inputs, [&](std::span<const Tensor> found) {
    const Numbers joined = reference::read_all<double>(found[0]);
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(joined[64 + i] == 2 * values[i]);
    check_near(found[1], eightfold, 0);
  });
}

TEST_CASE("a map that reads only where it stores replaces its operand") {
  GraphBuilder graph("state");
  const millrace::Tensor total = graph.variable("total", {DType::kF32, {64}}, 1);
  graph.update(total, double_nest(graph, total));
  graph.output("y", graph.input("x", DType::kF32, {64}) + 1.0);
  const DispatchGraph dispatch = formed(graph);
  CHECK(dispatch.copied_updates.empty());
}

TEST_CASE("results that nothing reads are stored in memory of the run, and a result that is only read inside is not") {
  GraphBuilder graph("unused");
  const millrace::Tensor x = graph.input("x", DType::kF32, {2, 32});
  graph.output("steps", quantise_nest(graph, x, 16)[1]);
  const Numbers values = some_numbers(64);
  const Graph built = graph.finish().value();
  const Tensor inputs[] = {f32({2, 32}, values)};
  run_everywhere(built, inputs, [&](std::span<const Tensor> found) { CHECK(found[0].num_elements() == 4); });
}

/// y[i] = a[i] + b[i - 1], where b is 100 before its first element.
KernelResults shift_nest(GraphBuilder& graph, millrace::Tensor a, millrace::Tensor b) {
  return graph.kernel("shift", {a, b}, [&](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const AffineIndex i = k.parallel("i", a.shape()[0]);
    BodyBuilder& body = k.epilogue();
    const BodyValue before = k.load(body, in[1], {i - 1}, {.fill = Scalar::of(100.0f)});
    k.store("y", a.type(), {i}, body.add(k.load(body, in[0], {i}), before));
  });
}

TEST_CASE("a value that a nest reads in two ways stays in memory, as one operand or as two equal ones") {
  GraphBuilder graph("twice");
  const millrace::Tensor x = graph.input("x", DType::kF32, {16});
  const millrace::Tensor square = x * x, view = flip(x, {0}) + 0.5;
  graph.output("same", shift_nest(graph, square, square));
  graph.output("equal", shift_nest(graph, x + 1.0, x + 1.0));
  graph.output("transposed", shift_nest(graph, reshape(view, {16}), view));
  const Graph built = graph.finish().value();
  const Numbers values = some_numbers(16);
  Numbers same(16), equal(16), transposed(16);
  for (std::size_t i = 0; i < 16; ++i) {
    same[i] = values[i] * values[i] + (i > 0 ? values[i - 1] * values[i - 1] : 100);
    equal[i] = values[i] + 1 + (i > 0 ? values[i - 1] + 1 : 100);
    transposed[i] = values[15 - i] + 0.5 + (i > 0 ? values[16 - i] + 0.5 : 100);
  }
  const Tensor inputs[] = {f32({16}, values)};
  run_everywhere(built, inputs, [&](std::span<const Tensor> found) {
    check_near(found[0], same, 0);
    check_near(found[1], equal, 0);
    check_near(found[2], transposed, 0);
  });
}

TEST_CASE("a nest of constants with a size that a run binds is not computed before") {
  GraphBuilder graph("late");
  const millrace::Tensor x = graph.input("x", DType::kF32, {Dim("n")});
  const millrace::Tensor two = graph.constant({4}, std::vector<float>(4, 2.0f));
  graph.output("y", graph.kernel("times", {two}, [](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const AffineIndex i = k.parallel("i", 4), r = k.reduction("r", Dim("n"));
    const BodyValue sum = k.reduce(ReductionKind::kSum, k.load(k.term(), in[0], {i}));
    k.store("y", {DType::kF32, {4}}, {i}, sum);
  }));
  graph.output("x", x + 1.0);
  const Tensor inputs[] = {f32({3}, {1, 2, 3})};
  run_everywhere(graph.finish().value(), inputs,
                 [&](std::span<const Tensor> found) { check_near(found[0], {6, 6, 6, 6}, 0); });
}

TEST_CASE("a variable is replaced in place though the nest reads another operand elsewhere") {
  GraphBuilder graph("state");
  const millrace::Tensor total = graph.variable("total", {DType::kF32, {4, 4}}, 1);
  const millrace::Tensor x = graph.input("x", DType::kF32, {4});
  graph.update(total, graph.kernel("add_row", {total, x}, [](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const AffineIndex m = k.parallel("m", 4), n = k.parallel("n", 4);
    BodyBuilder& b = k.epilogue();
    k.store("y", {DType::kF32, {4, 4}}, {m, n}, b.add(k.load(b, in[0], {m, n}), k.load(b, in[1], {n})));
  }));
  graph.output("x", x + 1.0);
  CHECK(formed(graph).copied_updates.empty());
}

TEST_CASE("a window's operand is computed once per element, not once per window") {
  GraphBuilder graph("box");
  const millrace::Tensor x = exp(graph.input("x", DType::kF32, {10}));
  graph.output("y", graph.kernel("box", {x}, [](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const AffineIndex i = k.parallel("i", 8), t = k.reduction("t", 3);
    k.store("y", {DType::kF32, {8}}, {i}, k.reduce(ReductionKind::kSum, k.load(k.term(), in[0], {i + t})));
  }));
  CHECK(shape_of(formed(graph)) == "exp -> 1\nkernel box -> 1\n");
}

TEST_CASE("explain names the nest whose results have different places") {
  GraphBuilder graph("q");
  const millrace::Tensor x = graph.input("x", DType::kF32, {3, 64});
  const KernelResults results = quantise_nest(graph, x, 16);
  graph.output("q", cast(results[0], DType::kF32));
  graph.output("steps", results[1] * 127.0);
  const DispatchGraph dispatch = formed(graph);
  REQUIRE(dispatch.separations.size() == 1);
  CHECK(
      to_text(dispatch.graph, dispatch.separations[0]) ==
      "%1.1 -> %5: %1 = kernel quantise stores its results at different points or in different passes, and other nodes "
      "joined it at another place; only one place takes in what follows");
}

TEST_CASE("a nest through views: transposed and sliced operands are read in place") {
  GraphBuilder graph("views");
  const millrace::Tensor x = graph.input("x", DType::kF32, {16, 4});
  graph.output("y", double_nest(graph, transpose(x, {1, 0})));
  const Graph built = graph.finish().value();
  CHECK(shape_of(formed(built)) == "transpose kernel double_it -> 1\n");
  const Numbers values = some_numbers(64);
  Numbers expected(64);
  for (std::size_t i = 0; i < 64; ++i) expected[i] = 2 * values[i % 16 * 4 + i / 16];
  const Tensor inputs[] = {f32({16, 4}, values)};
  run_everywhere(built, inputs, [&](std::span<const Tensor> found) { check_near(found[0], expected, 0); });
}

}  // namespace
}  // namespace millrace
