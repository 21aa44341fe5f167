// SPDX-License-Identifier: Apache-2.0
// Reductions over the same axes, the nodes before them and the nodes that read their results in the same row become one
// kernel with several passes; what reads another row does not.
#include <algorithm>
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "graph/dispatch/compose.h"
#include "tests/graph/dispatch/formed.h"
#include "tests/support/graphs/check_graph.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

/// The "term" lines of the text of the only kernel.
std::size_t count_passes(const DispatchGraph& dispatch) {
  const std::vector<ComposedRequest> composed = compose_region(dispatch, dispatch.regions[RegionId{0}]).value();
  REQUIRE(composed.size() == 1);
  const LoopKernel& kernel = std::get<LoopKernel>(composed[0].request);
  REQUIRE(verify(kernel).message() == "");
  const std::string text = to_text(kernel);
  std::size_t count = 0;
  for (std::size_t at = text.find("\n  term\n"); at != std::string::npos; at = text.find("\n  term\n", at + 1)) ++count;
  return count;
}

/// A graph of x that is one kernel.
struct RowCase {
  const char* name;
  Shape shape;         // of x
  std::size_t passes;  // of the kernel
  void (*build)(GraphBuilder&, Tensor x);
};

/// An input with one element per element of the last dim.
Tensor per_column(GraphBuilder& graph, const char* name, Tensor x) {
  return graph.input(name, x.dtype(), {x.shape().dims().back()});
}

/// x minus its mean, over its deviation.
Tensor standardized(Tensor x, std::vector<std::int64_t> axes) {
  const Tensor centred = x - reduce_mean(x, axes, true);
  return centred * rsqrt(reduce_mean(centred * centred, axes, true) + 1e-3);
}

Tensor layer_normalized(GraphBuilder& graph, Tensor x) {
  const Tensor scale = per_column(graph, "scale", x), bias = per_column(graph, "bias", x);
  return layer_norm(x, scale, bias);
}

void build_softmax(GraphBuilder& graph, Tensor x) { graph.output("y", softmax(x)); }
void build_inner_softmax(GraphBuilder& graph, Tensor x) { graph.output("y", softmax(x, 1)); }
void build_log_softmax(GraphBuilder& graph, Tensor x) { graph.output("y", log_softmax(x)); }
void build_layer_norm(GraphBuilder& graph, Tensor x) { graph.output("y", layer_normalized(graph, x)); }
void build_rms_norm(GraphBuilder& graph, Tensor x) { graph.output("y", rms_norm(x, per_column(graph, "scale", x))); }
void build_norm_of_images(GraphBuilder& graph, Tensor x) { graph.output("y", standardized(x, {2, 3})); }
/// Two channels per group, or one.
void build_group_norm(GraphBuilder& graph, Tensor x) {
  const Tensor scale = graph.input("scale", x.dtype(), {4}), bias = graph.input("bias", x.dtype(), {4});
  graph.output("y", group_norm(x, 2, scale, bias));
}
void build_instance_norm(GraphBuilder& graph, Tensor x) {
  const Tensor scale = graph.input("scale", x.dtype(), {4}), bias = graph.input("bias", x.dtype(), {4});
  graph.output("y", instance_norm(x, scale, bias));
}
void build_l2_norm(GraphBuilder& graph, Tensor x) { graph.output("y", x / sqrt(reduce_sum(x * x, {1}, true))); }
void build_logsumexp(GraphBuilder& graph, Tensor x) { graph.output("y", logsumexp(x, {1})); }
void build_variance(GraphBuilder& graph, Tensor x) {
  const Tensor mean = reduce_mean(x, {1}, true), centred = x - mean;
  graph.output("mean", mean);
  graph.output("variance", reduce_mean(centred * centred, {1}, true));
}
void build_scale_and_bias(GraphBuilder& graph, Tensor x) {
  const Tensor scaled = standardized(x, {1}) * per_column(graph, "scale", x);
  graph.output("y", scaled + per_column(graph, "bias", x));
}
void build_residual(GraphBuilder& graph, Tensor x) {
  const Tensor sum = x + graph.input("residual", x.dtype(), x.shape());
  graph.output("sum", sum);
  graph.output("y", rms_norm(sum, per_column(graph, "scale", x)));
}
void build_gelu_after_norm(GraphBuilder& graph, Tensor x) { graph.output("y", gelu(layer_normalized(graph, x))); }
void build_dropped_dims(GraphBuilder& graph, Tensor x) {
  graph.output("y", x - broadcast(reduce_mean(x, {1}), x.shape(), {0}));
}
void build_all_axes(GraphBuilder& graph, Tensor x) { graph.output("y", x / reduce_sum(abs(x) + 1.0, {0, 1}, true)); }
void build_siblings(GraphBuilder& graph, Tensor x) {
  const Tensor lowest = reduce_min(x, {1}, true), highest = reduce_max(x, {1}, true);
  graph.output("y", (x - lowest) / (highest - lowest + 1.0));
}

void build_arg_and_max(GraphBuilder& graph, Tensor x) {
  graph.output("index", argmax(x, 1));
  graph.output("value", reduce_max(x, {1}));
}
void build_greedy_choice(GraphBuilder& graph, Tensor x) {
  const Tensor p = softmax(x);
  graph.output("p", reduce_max(p, {1}, true));
  graph.output("index", argmax(p, 1, true));
}
/// An element drawn with the probabilities of softmax(x), from uniform noise.
void build_draw(GraphBuilder& graph, Tensor x) {
  const Tensor noise = graph.input("noise", x.dtype(), x.shape());
  graph.output("index", argmax(x - log(-log(noise)), 1));
}
/// Each row has a scale and a zero point of its own.
void build_quantized_rows(GraphBuilder& graph, Tensor x) {
  const Tensor lowest = min(reduce_min(x, {1}, true), 0), highest = max(reduce_max(x, {1}, true), 0);
  const Tensor scale = (highest - lowest) / 255, zero = round(-lowest / scale);
  graph.output("scale", scale);
  graph.output("zero", cast(zero, DType::kU8));
  graph.output("q", cast(min(max(round(x / scale) + zero, 0), 255), DType::kU8));
}

const std::vector<RowCase>& row_cases() {
  static const std::vector<RowCase> kCases = {
      {"softmax", {6, 40}, 3, build_softmax},
      {"softmax of an inner axis", {3, 50, 7}, 3, build_inner_softmax},
      {"log_softmax", {6, 40}, 3, build_log_softmax},
      {"layer_norm", {6, 40}, 3, build_layer_norm},
      {"rms_norm", {6, 40}, 2, build_rms_norm},
      {"norm over two axes", {4, 3, 8, 5}, 3, build_norm_of_images},
      {"group_norm", {2, 4, 3, 7}, 3, build_group_norm},
      {"instance_norm", {2, 4, 3, 7}, 3, build_instance_norm},
      {"L2 norm", {6, 40}, 2, build_l2_norm},
      {"logsumexp", {6, 40}, 2, build_logsumexp},
      {"mean and variance", {6, 40}, 2, build_variance},
      {"scale and bias", {6, 40}, 3, build_scale_and_bias},
      {"sum before a norm, an output too", {6, 40}, 2, build_residual},
      {"gelu after a norm", {6, 40}, 3, build_gelu_after_norm},
      {"reduced dims are dropped", {6, 40}, 2, build_dropped_dims},
      {"all axes", {6, 40}, 2, build_all_axes},
      {"two reductions in a pass", {6, 40}, 2, build_siblings},
      {"argmax and maximum", {6, 40}, 1, build_arg_and_max},
      {"the most likely element and its probability", {6, 40}, 3, build_greedy_choice},
      {"a draw", {6, 40}, 1, build_draw},
      {"quantized rows", {6, 40}, 2, build_quantized_rows},
  };
  return kCases;
}

Graph graph_of(void (*build)(GraphBuilder&, Tensor x), DType dtype, const Shape& shape) {
  GraphBuilder graph;
  build(graph, graph.input("x", dtype, shape));
  return graph.finish().value();
}

void check_is_one_kernel(const RowCase& each, DType dtype, const Shape& shape) {
  CAPTURE(each.name);
  CAPTURE(to_text(dtype));
  const DispatchGraph dispatch = formed(graph_of(each.build, dtype, shape));
  CHECK_MESSAGE(dispatch.regions.size() == 1, shape_of(dispatch));
  if (dispatch.regions.size() == 1) CHECK(count_passes(dispatch) == each.passes);
}

TEST_CASE("softmax is one kernel, and says what joined its nodes") {
  const DispatchGraph dispatch = formed(graph_of(build_softmax, DType::kF32, {6, 40}));
  CHECK(shape_of(dispatch) == "reduce_max broadcast sub exp reduce_sum broadcast div broadcast mul -> 1\n");
  CHECK(dispatch.regions[RegionId{0}].reasons ==
        std::vector<std::string>{"%4 at the points of %3: no store and load between them",
                                 "%3 reads %1 in the same rows: one kernel with several passes",
                                 "%8 at the points of %5: no store and load between them",
                                 "%5 reads %4 in the same rows: one kernel with several passes",
                                 "%10 reads %4 in the same rows: one kernel with several passes"});
  CHECK(dispatch.separations.empty());
}

TEST_CASE("softmax, norms and their neighbours are one kernel, with as many passes as results depend on each other") {
  for (const RowCase& each : row_cases()) check_is_one_kernel(each, DType::kF32, each.shape);
  check_is_one_kernel({"softmax", {}, 3, build_softmax}, DType::kF64, {6, 40});
  check_is_one_kernel({"inner axis of many rows", {}, 3, build_inner_softmax}, DType::kF32, {64, 512, 32});
  check_is_one_kernel({"sizes of a run", {}, 3, build_softmax}, DType::kF32, {Dim("rows"), Dim("n")});
}

TEST_CASE("16-bit softmax and norms, which compute in f32, are one kernel with the casts of their rows") {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    check_is_one_kernel({"softmax", {}, 3, build_softmax}, dtype, {6, 40});
    check_is_one_kernel({"log_softmax", {}, 3, build_log_softmax}, dtype, {6, 40});
    // Scale and bias, which are not constants here, are cast once, not once per row.
    CHECK(shape_of(formed(graph_of(build_layer_norm, dtype, {6, 40}))) ==
          "cast -> 1\ncast -> 1\n"
          "cast slice slice slice min max min max broadcast sub reduce_mean sub broadcast add mul reduce_mean neg "
          "broadcast add add broadcast add rsqrt broadcast mul broadcast mul broadcast add cast -> 1\n");
    CHECK(shape_of(formed(graph_of(build_rms_norm, dtype, {6, 40}))) ==
          "cast -> 1\ncast mul reduce_mean broadcast add rsqrt broadcast mul broadcast mul cast -> 1\n");
  }
}

// Graphs whose rows cannot all be one kernel.

void build_other_rows(GraphBuilder& graph, Tensor x) {
  graph.output("y", softmax(x * transpose(reduce_sum(x, {1}, true), {1, 0})));
}
void build_one_row(GraphBuilder& graph, Tensor x) {
  graph.output("y", x - slice(reduce_sum(x, {1}, true), {3, 0}, {4, 1}));
}
void build_both_axes(GraphBuilder& graph, Tensor x) {
  const Tensor y = x / (reduce_sum(abs(x), {1}, true) + 1.0);
  graph.output("y", y / (reduce_sum(y, {0}, true) + 9.0));  // each element is above -1
}
/// Softmax with reshapes between the reductions and the nodes that read them.
void build_reshaped(GraphBuilder& graph, Tensor x) {
  const Shape rows = {x.shape()[0], 1};
  const Tensor shifted = exp(x - reshape(reduce_max(x, {1}), rows));
  graph.output("y", shifted / reshape(reduce_sum(shifted, {1}), rows));
}
void build_sort_between(GraphBuilder& graph, Tensor x) {
  const Tensor shifted = x - reduce_max(x, {1}, true);
  graph.output("y", shifted / (reduce_sum(sort(shifted, 1).values, {1}, true) - 1.0));
}
void build_attention(GraphBuilder& graph, Tensor x) {
  const Tensor w = graph.input("w", x.dtype(), {8, 8}), v = graph.input("v", x.dtype(), {8, 8});
  graph.output("y", matmul(softmax(matmul(x, w)), v));
}
void build_dot_plus_sum(GraphBuilder& graph, Tensor x) {
  const Tensor sum = reduce_sum(x, {1}, true);
  graph.output("y", matmul(x, graph.input("w", x.dtype(), {8, 8})) + sum);
}
void build_turned_output(GraphBuilder& graph, Tensor x) {
  graph.output("y", transpose(x / (reduce_sum(abs(x), {1}, true) + 1.0), {1, 0}));
}

struct ApartCase {
  const char* name;
  void (*build)(GraphBuilder&, Tensor x);
  const char* regions;
};
constexpr ApartCase kApartCases[] = {
    {"sums of other rows", build_other_rows,
     "reduce_sum -> 1\ntranspose broadcast mul reduce_max broadcast sub exp reduce_sum broadcast div broadcast mul -> "
     "1\n"},
    {"the sum of one row, in all rows", build_one_row, "reduce_sum -> 1\nslice broadcast sub -> 1\n"},
    {"reductions over different axes", build_both_axes,
     "abs reduce_sum broadcast add broadcast div -> 1\nreduce_sum broadcast add broadcast div -> 1\n"},
    {"a reshape between", build_reshaped, "reduce_max -> 1\nbroadcast sub exp reduce_sum -> 2\nbroadcast div -> 1\n"},
    {"a sort between", build_sort_between,
     "reduce_max broadcast sub -> 1\nsort -> 1\nreduce_sum broadcast sub broadcast div -> 1\n"},
    {"dots before and after", build_attention,
     "dot -> 1\nreduce_max broadcast sub exp reduce_sum broadcast div broadcast mul -> 1\ndot -> 1\n"},
    {"a dot that adds a sum", build_dot_plus_sum, "reduce_sum -> 1\ndot broadcast add -> 1\n"},
    {"an output at other points", build_turned_output,
     "abs reduce_sum broadcast add broadcast div -> 1\ntranspose -> 1\n"},
};

TEST_CASE("a result that is needed in another row, or through something else than a view, is read from memory") {
  for (const ApartCase& each : kApartCases) {
    CAPTURE(each.name);
    CHECK(shape_of(formed(graph_of(each.build, DType::kF32, {8, 8}))) == each.regions);
  }
}

/// x over its sums, then 2 * `num_pairs` cheap nodes.
DispatchGraph long_chain(int num_pairs, bool is_negated) {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {6, 40});
  Tensor y = x / reduce_sum(x, {1}, true);
  for (int i = 0; i < num_pairs; ++i) y = y * 0.5 + 1.0;
  graph.output("y", is_negated ? -y : y);
  return formed(graph);
}

TEST_CASE("rows join only up to the maximum number of nodes of a region, 128") {
  CHECK(long_chain(63, false).regions.size() == 1);  // a sum, a division and 126 others
  CHECK(long_chain(63, true).regions.size() == 2);
}

TEST_CASE("rows of more than 256 KiB stay apart, because a second pass would not find them in cache") {
  const auto count_regions = [](const Shape& shape) {
    return formed(graph_of(build_softmax, DType::kF32, shape)).regions.size();
  };
  CHECK(count_regions({2, 65'536}) == 1);
  CHECK(count_regions({2, 65'537}) == 4);
  CHECK(count_regions({2, Dim("n").at_most(65'536)}) == 1);
  CHECK(count_regions({2, Dim("n").at_most(100'000)}) == 4);
  CHECK(formed(graph_of(build_norm_of_images, DType::kF32, {2, 2, 256, 256})).regions.size() == 1);
  CHECK(formed(graph_of(build_norm_of_images, DType::kF32, {2, 2, 256, 257})).regions.size() == 4);

  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {4, 100'000});
  graph.output("y", x - reduce_max(x, {1}, true));
  const DispatchGraph dispatch = formed(graph);
  REQUIRE(dispatch.separations.size() == 1);
  CHECK(
      to_text(dispatch.graph, dispatch.separations[0]) ==
      "%1 -> %3: each pass over rows of %1 = reduce_max would walk 400000 bytes, expected at most 262144 so that they "
      "stay in cache; shorter rows would help");
}

TEST_CASE("softmax of rows that stay apart equals plain loops, on every level") {
  constexpr std::int64_t kRows = 4, kColumns = 100'000;
  // The bound of the relative error. It adds up, in units of 2^-24: the sum, with three levels of at most 128 terms and
  // 16 additions after the loop; one ulp, two units, for each of two exponentials; one rounding by the division; and 5
  // for products of these errors. The differences from the maximum are exact.
  constexpr double kBound = (128 * 3 + 16 + 2 * 2 + 1 + 5) * 0x1p-24;
  reference::Tensor x(DType::kF32, {kRows, kColumns});
  std::vector<double> expected;
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::vector<double> elements;
    for (std::int64_t i = 0; i < kColumns; ++i) {
      elements.push_back(static_cast<double>((i * 7919 + row * 31) % 65) / 8 - 4);
      reference::write_element(DType::kF32, elements.back(), x.element(row * kColumns + i));
    }
    const double maximum = std::ranges::max(elements);
    double sum = 0;
    for (const double element : elements) sum += std::exp(element - maximum);
    for (const double element : elements) expected.push_back(std::exp(element - maximum) / sum);
  }
  const Graph graph = graph_of(build_softmax, DType::kF32, {kRows, kColumns});
  for (const CompileOptions& way : test::every_way_to_compile()) {
    if (!way.lowering.compile.force_generator.empty()) continue;
    CAPTURE(test::to_text(way));
    const Program program = compile(graph, way).value();
    const auto outputs = test::run_guarded(program, std::span(&x, 1), {}, 1);
    REQUIRE(outputs.status().message() == "");
    const std::vector<double> found = reference::read_all<double>((*outputs)[0]);
    double largest = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double error = std::fabs(found[i] / expected[i] - 1);
      largest = error <= largest ? largest : error;  // keeps a NaN
    }
    CHECK(largest <= kBound);
  }
}

/// On every level of the host, the interpreter, simulated GPUs, and GPUs whose code is executed.
std::vector<CompileOptions> ways_to_run_rows() {
  std::vector<CompileOptions> ways = test::every_way_to_compile();
  for (const char* device : {"sim:gfx1100", "sim:gfx90a", "isa:gfx1100", "isa:gfx90a"}) {
    ways.push_back({.device = device, .context = test::isa_context()});
  }
  return ways;
}

/// Compares the graph with the oracle on the lowest level, and on the other ways that are in the slice.
void check_in_slices(const Graph& graph, bool is_always_checked, std::uint64_t& number) {
  const test::Slice slice = test::tested_slice_of_long_cases();
  const std::vector<CompileOptions> ways = ways_to_run_rows();
  for (std::size_t i = 0; i < ways.size(); ++i) {
    ++number;
    const bool is_in_slice = slice.has(std::mt19937_64(number)());  // not every sixteenth, which is the same way often
    if (!(i == 0 && is_always_checked) && !is_in_slice) continue;
    const std::string wrong = test::check_graph(graph, {}, ways[i], number);
    CHECK_MESSAGE(wrong.empty(), test::to_text(ways[i]), ": ", wrong);
  }
}

TEST_CASE("kernels with several passes equal the oracle in every float dtype, a slice at a time" * test::Sliced()) {
  std::uint64_t number = 0;
  for (const RowCase& each : row_cases()) {
    CAPTURE(each.name);
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
      CAPTURE(to_text(dtype));
      check_in_slices(graph_of(each.build, dtype, each.shape), dtype == DType::kF32, number);
    }
  }
}

/// Each row depends on the two before it: computing earlier values again in each pass must not double the work.
void build_long_chain(GraphBuilder& graph, Tensor x) {
  Tensor before = x, last = x;
  for (int i = 0; i < 20; ++i) {
    const Tensor next = max(last - reduce_max(last, {1}, true), before);
    before = std::exchange(last, next);
  }
  graph.output("y", last);
}

TEST_CASE("a long chain of dependent rows becomes kernels of at most six passes") {
  CHECK(formed(graph_of(build_long_chain, DType::kF32, {Dim("rows"), Dim("n")})).regions.size() == 4);
  const Graph graph = graph_of(build_long_chain, DType::kF32, {5, 37});
  CHECK(formed(graph).regions.size() == 4);
  std::uint64_t number = 2'000'000;
  check_in_slices(graph, true, number);
}

TEST_CASE("rows that stay apart equal the oracle, a slice at a time" * test::Sliced()) {
  std::uint64_t number = 1'000'000;
  for (const ApartCase& each : kApartCases) {
    CAPTURE(each.name);
    check_in_slices(graph_of(each.build, DType::kF32, {8, 8}), true, number);
  }
}

}  // namespace
}  // namespace millrace
