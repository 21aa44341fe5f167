// SPDX-License-Identifier: Apache-2.0
// Small programs end to end, on every ISA level and through the interpreter, against the oracle.
#include <cmath>

#include <doctest/doctest.h>

#include "tests/graph/misuse.h"
#include "tests/support/difference.h"
#include "tests/support/graphs/reference_graph.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using reference::Tensor;
using T = millrace::Tensor;

struct SmallProgram {
  const char* name;
  /// Largest allowed difference of a float output; 0: bit for bit.
  double tolerance;
  void (*build)(GraphBuilder&);
};

T in(GraphBuilder& g, const char* name, Shape shape, DType dtype = DType::kF32) {
  return g.input(name, dtype, std::move(shape));
}

// Values have a magnitude of at most 10, and sums at most 300 terms: f32 keeps them within 1e-4.
constexpr SmallProgram kComputing[] = {
    {"elementwise chain", 1e-5,
     [](GraphBuilder& g) {
       T x = in(g, "x", {3, 37}), z = in(g, "z", {3, 37});
       g.output("y", sigmoid(x * 2.0 + 1.0) * tanh(x) - abs(z) / sqrt(x * x + 1.0));
     }},
    {"elementwise of f64", 1e-13,
     [](GraphBuilder& g) {
       T x = in(g, "x", {65}, DType::kF64);
       g.output("y", exp(x) - erf(x) * floor(x) + pow(abs(x), x));
     }},
    {"reductions of one value", 1e-5,
     [](GraphBuilder& g) {
       T x = in(g, "x", {5, 7, 33});
       g.output("sum", reduce_sum(x, {1, 2}));
       g.output("mean", reduce_mean(x, {-1}, true));
       g.output("scaled", x * broadcast_to(reduce_max(x, {0}, true), {5, 7, 33}));
     }},
    {"a reduction with elementwise before and after", 1e-4,
     [](GraphBuilder& g) {
       T x = in(g, "x", {9, 65});
       g.output("norm", sqrt(reduce_sum(x * x, {1}) + 1.0));
     }},
    {"dot, bias and relu", 1e-4,
     [](GraphBuilder& g) {
       T x = in(g, "x", {17, 33}), w = in(g, "w", {33, 29}), b = in(g, "b", {29});
       g.output("y", relu(matmul(x, w) + broadcast_to(b, {17, 29})));
     }},
    {"dot of transposed batches", 1e-4,
     [](GraphBuilder& g) {
       T x = in(g, "x", {3, 20, 6}), y = in(g, "y", {20, 3, 10});
       g.output("y", dot(x, y, {{0}, {1}, {1}, {0}}) * 0.5);
     }},
    {"dot of f16, rounded at each node", 2e-2,
     [](GraphBuilder& g) {
       T x = cast(in(g, "x", {8, 16}), DType::kF16), w = cast(in(g, "w", {16, 8}), DType::kF16);
       g.output("y", cast(matmul(x, w), DType::kF32));
     }},
    {"convolution, bias, relu and pool", 1e-4,
     [](GraphBuilder& g) {
       T x = in(g, "x", {2, 3, 13, 11}), w = in(g, "w", {8, 3, 3, 3}), b = in(g, "b", {8, 1, 1});
       T y = conv2d(x, w, {.strides = {2, 1}, .padding = {1, 0, 1, 2}});
       g.output("y", max_pool2d(relu(y + broadcast_to(b, y.shape())), {.window = {3, 2}, .strides = {1, 2}}));
     }},
    {"residual blocks: what a convolution reads is added to what it gives", 1e-3,
     [](GraphBuilder& g) {
       T w = in(g, "w", {3, 3, 3, 3});
       T s = relu(in(g, "x", {2, 3, 8, 9}));
       for (int i = 0; i < 2; ++i) s = relu(conv2d(s, w, {.padding = {1, 1, 1, 1}}) * 0.1 + s);
       g.output("y", s + avg_pool2d(s, {.window = {3, 3}, .strides = {1, 1}, .padding = {1, 1, 1, 1}}));
       g.output("z", max_pool2d(s, {.window = {3, 3}, .strides = {1, 1}, .padding = {1, 1, 1, 1}}) + s);
     }},
    {"average pool", 1e-5,
     [](GraphBuilder& g) {
       T x = in(g, "x", {1, 4, 9, 9});
       g.output("y", avg_pool2d(x, {.window = {3, 3}, .strides = {2, 2}, .padding = {1, 1, 1, 1}}));
     }},
    {"softmax", 1e-6, [](GraphBuilder& g) { g.output("y", softmax(in(g, "x", {7, 41}))); }},
    {"softmax along the first axis", 1e-6, [](GraphBuilder& g) { g.output("y", softmax(in(g, "x", {7, 41}), 0)); }},
    {"gelu", 1e-5, [](GraphBuilder& g) { g.output("y", gelu(in(g, "x", {300}))); }},
    {"layer norm", 1e-4,
     [](GraphBuilder& g) {
       T x = in(g, "x", {6, 50}), s = in(g, "s", {50}), b = in(g, "b", {50});
       g.output("y", layer_norm(x, s, b));
     }},
};

constexpr SmallProgram kExact[] = {
    {"convolutions of bytes, of every mixture", 0,
     [](GraphBuilder& g) {
       const Conv2dAttrs attributes = {.strides = {2, 1}, .padding = {1, 0, 1, 2}, .dilations = {1, 2}, .groups = 2};
       T x = in(g, "x", {2, 6, 9, 11}, DType::kI8), w = in(g, "w", {8, 3, 3, 2}, DType::kI8);
       T x_unsigned = in(g, "xu", {2, 6, 9, 11}, DType::kU8), w_unsigned = in(g, "wu", {8, 3, 3, 2}, DType::kU8);
       g.output("signed", conv2d_i32(x, w, attributes));
       g.output("unsigned", conv2d_i32(x_unsigned, w_unsigned, attributes));
       g.output("signed_weights", conv2d_i32(x_unsigned, w, attributes));
       g.output("unsigned_weights", conv2d_i32(x, w_unsigned, attributes));
     }},
    {"integers", 0,
     [](GraphBuilder& g) {
       T i = in(g, "i", {50}, DType::kI32), j = in(g, "j", {50}, DType::kI32);
       g.output("y", rem(i * 7 + j, j - 5) / (i - 1));
       g.output("less", select(less(i, j), cast(i, DType::kI64), cast(j, DType::kI64)));
     }},
    {"comparisons and casts", 0,
     [](GraphBuilder& g) {
       T x = in(g, "x", {31}), y = in(g, "y", {31});
       T is_greater = greater(x, y);
       g.output("flags", logical_xor(is_greater, logical_not(equal(x, y))));
       g.output("bytes", cast(x * 100.0, DType::kU8));
       g.output("half", cast(x, DType::kBF16));
     }},
    {"maximum, minimum and argmax", 0,
     [](GraphBuilder& g) {
       T x = in(g, "x", {5, 67});
       g.output("max", reduce_max(x, {1}));
       g.output("min", reduce_min(x, {0}, true));
       g.output("at", argmax(x, 1));
     }},
    {"concat of a value twice and of a computed one", 0,
     [](GraphBuilder& g) {
       T x = in(g, "x", {4, 3}), y = in(g, "y", {4, 5});
       g.output("y", concat(std::vector{x, -y, x, abs(y)}, 1));
     }},
    {"gather by indices of rank 2, some negative", 0,
     [](GraphBuilder& g) {
       T x = in(g, "x", {4, 6}), i = in(g, "i", {2, 3}, DType::kI32);
       g.output("rows", gather(x, i, 0));
       g.output("columns", gather(-x, cast(i, DType::kI64), -1));
     }},
    {"views one behind the other", 0,
     [](GraphBuilder& g) {
       T x = in(g, "x", {6, 10});
       T cut = slice(transpose(x, {1, 0}), {1, 0}, {10, 6}, {2, 1});  // [5, 6]
       g.output("cut", cut);
       g.output("padded", pad(reshape(cut, {3, 10}), {1, 0}, {0, 2}, -1.5));
     }},
    {"iota and order", 0,
     [](GraphBuilder& g) {
       T x = in(g, "x", {3, 40});
       const ValuesAndIndices sorted = sort(x, 1, true);
       g.output("values", sorted.values);
       g.output("moved", sorted.indices + iota(g, DType::kI64, {3, 40}, 1));
     }},
};

std::vector<Tensor> inputs_of(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (const NodeId id : graph.inputs) inputs.push_back(random_tensor(graph.type({id, 0}), -2, 2, 11 + inputs.size()));
  return inputs;
}

/// "" or the first element of an output that is too far from the oracle's.
std::string difference(const Tensor& found, const Tensor& expected, double tolerance) {
  if (!is_float(expected.type.dtype) || tolerance == 0) return test::find_difference(found, expected, {});
  const std::vector<long double> bounds(static_cast<std::size_t>(expected.num_elements()), tolerance);
  return test::find_difference(found, expected, {.bounds = bounds});
}

void check_program(const SmallProgram& small) {
  CAPTURE(std::string(small.name));
  GraphBuilder builder;
  small.build(builder);
  const Graph graph = builder.finish().value();
  const std::vector<Tensor> inputs = inputs_of(graph);
  const std::vector<Tensor> expected = evaluate_graph(graph, inputs);
  for (const CompileOptions& options : test::every_way_to_compile()) {
    CAPTURE(test::to_text(options));
    const Result<Program> program = compile(graph, options);
    CHECK(program.status().message() == "");
    if (!program.ok()) continue;
    const Result<std::vector<Tensor>> found = test::run_guarded(*program, inputs);
    CHECK(found.status().message() == "");
    for (std::size_t i = 0; found.ok() && i < expected.size(); ++i) {
      CAPTURE(graph.outputs[i].name);
      CHECK(difference((*found)[i], expected[i], small.tolerance) == "");
    }
  }
}

TEST_CASE("programs that compute equal the oracle, compiled in every way") {
  for (const SmallProgram& small : kComputing) check_program(small);
}

TEST_CASE("programs of integers and moves equal the oracle bit for bit") {
  for (const SmallProgram& small : kExact) check_program(small);
}

constexpr SmallProgram kPassedOn[] = {
    {"an input", 0,
     [](GraphBuilder& g) {
       T x = in(g, "x", {5});
       g.output("a", x);
       g.output("b", x);
       g.output("c", reshape(x, {5, 1}));
     }},
    {"a constant", 0,
     [](GraphBuilder& g) {
       const float numbers[] = {1, 2, 3};
       T c = g.constant<float>({3}, numbers);
       g.output("a", c);
       g.output("b", c);
       g.output("c", broadcast_to(c, {2, 3}));
     }},
    {"a computed value twice, and reshaped", 0,
     [](GraphBuilder& g) {
       T y = -in(g, "x", {4, 3});
       g.output("a", y);
       g.output("b", y);
       g.output("c", reshape(y, {12}));
       g.output("d", transpose(y, {1, 0}));
     }},
    {"a reshape alone", 0, [](GraphBuilder& g) { g.output("y", reshape(-in(g, "x", {4, 3}), {2, 6})); }},
    {"nothing computed, an input not read", 0,
     [](GraphBuilder& g) {
       in(g, "unused", {4});
       g.output("y", iota(g, DType::kF32, {7}, 0));
     }},
    {"a scalar", 0, [](GraphBuilder& g) { g.output("y", in(g, "x", {}) * in(g, "y", {})); }},
};

TEST_CASE("an output may be an input, a constant, a view or another output") {
  for (const SmallProgram& small : kPassedOn) check_program(small);
}

constexpr SmallProgram kEmpty[] = {
    {"elementwise", 0,
     [](GraphBuilder& g) {
       T x = in(g, "x", {0, 8});
       g.output("y", x * 2.0 + x);
     }},
    {"sum, product and maximum of nothing", 0,
     [](GraphBuilder& g) {
       T x = in(g, "x", {3, 0});
       g.output("sum", reduce_sum(x, {1}));
       g.output("prod", reduce_prod(x, {1}));
       g.output("max", reduce_max(x, {1}));
       g.output("none", reduce_sum(x, {0}));
     }},
    {"dot over nothing, and of nothing", 0,
     [](GraphBuilder& g) {
       T x = in(g, "x", {4, 0}), y = in(g, "y", {0, 5});
       g.output("zeros", matmul(x, y));
       g.output("none", matmul(y, in(g, "z", {5, 3})));
     }},
    {"moves", 0,
     [](GraphBuilder& g) {
       T x = in(g, "x", {2, 0}), y = in(g, "y", {2, 3});
       g.output("joined", concat(std::vector{x, y, x}, 1));
       g.output("padded", pad(x, {0, 1}, {0, 1}, 4));
       g.output("cut", slice(y, {1, 1}, {1, 3}));
       g.output("transposed", transpose(x, {1, 0}));
       g.output("gathered", gather(y, in(g, "i", {0}, DType::kI64), 0));
     }},
    {"order", 0,
     [](GraphBuilder& g) {
       T x = in(g, "x", {3, 0});
       g.output("sorted", sort(x).values);
       g.output("none", topk(in(g, "y", {3, 4}), 0).indices);
     }},
};

TEST_CASE("tensors without elements are computed as others are") {
  for (const SmallProgram& small : kEmpty) check_program(small);
}

}  // namespace
}  // namespace millrace
