// SPDX-License-Identifier: Apache-2.0
// Sizes that a run binds: one compiled program equals the oracle at every size, on every ISA level.
#include <cmath>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/support/difference.h"
#include "tests/support/graphs/reference_graph.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

using reference::Tensor;
using T = millrace::Tensor;

struct DynamicProgram {
  const char* name;
  double max_ulp;  // of sums, their bound in the values below
  void (*build)(GraphBuilder&);
  std::vector<SymbolValues> bindings;
};

T in(GraphBuilder& g, const char* name, Shape shape, DType dtype = DType::kF32) {
  return g.input(name, dtype, std::move(shape));
}

const SizeExpr kRows = Dim("rows"), kColumns = Dim("columns"), kN = Dim("n");

std::vector<SymbolValues> for_each_of(const char* name, std::initializer_list<std::int64_t> values) {
  std::vector<SymbolValues> bindings;
  for (const std::int64_t value : values) bindings.push_back({{name, value}});
  return bindings;
}

const DynamicProgram kPrograms[] = {
    {"elementwise",
     8,
     [](GraphBuilder& g) {
       T x = in(g, "x", {kRows, kColumns}), y = in(g, "y", {kRows, kColumns});
       g.output("z", sigmoid(x * 2.0 + 1.0) * abs(y) - x);
     },
     {{{"rows", 0}, {"columns", 5}},
      {{"rows", 1}, {"columns", 1}},
      {{"rows", 7}, {"columns", 33}},
      {{"rows", 3}, {"columns", 0}},
      {{"rows", 64}, {"columns", 16}}}},
    {"facts", 8,
     [](GraphBuilder& g) {
       T x = in(g, "x", {Dim("rows").at_least(128).at_most(524160).multiple_of(128), 24});
       g.output("y", cast(exp(x), DType::kF16));
     },
     for_each_of("rows", {128, 256, 384})},
    {"reductions, and a mean over what a run binds",
     64,
     [](GraphBuilder& g) {
       T x = in(g, "x", {kRows, 5, kColumns});
       g.output("sum", reduce_sum(x * x, {2}));
       g.output("mean", reduce_mean(x, {0, 2}));
       g.output("largest", reduce_max(x, {0}));
     },
     {{{"rows", 1}, {"columns", 1}}, {{"rows", 9}, {"columns", 70}}, {{"rows", 2}, {"columns", 16}}}},
    {"softmax",
     64,
     [](GraphBuilder& g) { g.output("y", softmax(in(g, "x", {kRows, kColumns}))); },
     {{{"rows", 0}, {"columns", 3}}, {{"rows", 1}, {"columns", 1}}, {{"rows", 5}, {"columns", 100}}}},
    {"dot of three sizes that a run binds",
     256,
     [](GraphBuilder& g) {
       T x = in(g, "x", {Dim("m"), Dim("k")}), y = in(g, "y", {Dim("k"), kN});
       g.output("z", relu(matmul(x, y)));
     },
     {{{"m", 1}, {"k", 1}, {"n", 1}},
      {{"m", 0}, {"k", 4}, {"n", 3}},
      {{"m", 3}, {"k", 0}, {"n", 2}},
      {{"m", 33}, {"k", 65}, {"n", 17}},
      {{"m", 64}, {"k", 64}, {"n", 64}}}},
    {"argmax",
     0,
     [](GraphBuilder& g) { g.output("i", argmax(in(g, "x", {kRows, kColumns}), 1)); },
     {{{"rows", 0}, {"columns", 1}}, {{"rows", 3}, {"columns", 50}}}},
    {"convolution and pools",
     256,
     [](GraphBuilder& g) {
       T x = in(g, "x", {Dim("batch"), 3, Dim("h").at_least(4), Dim("w").at_least(4)}), w = in(g, "w", {4, 3, 3, 3});
       T y = conv2d(x, w, {.strides = {1, 2}, .padding = {1, 1, 1, 1}});
       g.output("max", max_pool2d(y, {.padding = {1, 1, 0, 0}}));
       g.output("average", avg_pool2d(y, {.window = {3, 2}, .strides = {1, 1}, .padding = {1, 1, 1, 1}}));
     },
     {{{"batch", 0}, {"h", 4}, {"w", 4}}, {{"batch", 2}, {"h", 5}, {"w", 8}}, {{"batch", 1}, {"h", 11}, {"w", 37}}}},
    {"moves",
     0,
     [](GraphBuilder& g) {
       T x = in(g, "x", {kRows, kColumns}), y = in(g, "y", {kN, kColumns});
       T joined = concat(std::vector{x, y}, 0);
       g.output("joined", joined);
       g.output("transposed", transpose(joined, {1, 0}) + 1.0);
       g.output("padded", pad(x, {1, kN}, {0, 2}, 7));
       g.output("cut", slice(joined, {kRows, 0}, {kRows + kN, kColumns}));
       g.output("flat", reshape(x, {-1}) * 2.0);
       g.output("same_rows", reshape(reshape(x, {kRows, kColumns, 1}), {kRows, -1}) + x);
       g.output("same_columns", reshape(reshape(x, {1, kRows, kColumns}), {-1, kColumns}) + x);
       g.output("back", reshape(reshape(x, {-1}), {kRows, kColumns}));
       g.output("halves", reshape(concat(std::vector{x, x}, 1), {2, -1}));
       g.output("counted", iota(g, DType::kI64, {kN, kRows + 1}, 0));
     },
     {{{"rows", 0}, {"columns", 0}, {"n", 0}},
      {{"rows", 1}, {"columns", 1}, {"n", 1}},
      {{"rows", 0}, {"columns", 4}, {"n", 3}},
      {{"rows", 7}, {"columns", 19}, {"n", 5}}}},
    {"scans and scatters along what a run binds",
     64,
     [](GraphBuilder& g) {
       T x = in(g, "x", {kRows, kColumns}), i = in(g, "i", {kN}, DType::kI32), u = in(g, "u", {kN, kColumns});
       g.output("scattered", scatter_max(x, i, u, 0));
       g.output("multiplied", scatter_mul(x, i, u, 0));
       g.output("down", cumulative_max(x, {.axis = 0}));
       g.output("across", cumulative_sum(x, {.axis = 1, .exclusive = true, .reverse = true}));
       g.output("size", size_of(g, kRows * kColumns));
     },
     {{{"rows", 0}, {"columns", 3}, {"n", 0}},
      {{"rows", 12}, {"columns", 0}, {"n", 2}},
      {{"rows", 12}, {"columns", 37}, {"n", 40}}}},
    {"a grouped and dilated convolution",
     256,
     [](GraphBuilder& g) {
       T x = in(g, "x", {Dim("batch"), 4, Dim("h").at_least(5), 9}), w = in(g, "w", {6, 2, 3, 3});
       const Conv2dAttrs attributes = {.padding = {0, 1, 0, 1}, .dilations = {2, 1}, .groups = 2};
       g.output("y", conv2d(x, w, attributes));
       g.output("of_bytes", conv2d_i32(cast(x * 100.0, DType::kU8), cast(w * 100.0, DType::kI8), attributes));
     },
     {{{"batch", 0}, {"h", 5}}, {{"batch", 2}, {"h", 8}}}},
    {"gather along what a run binds",
     0,
     [](GraphBuilder& g) {
       T x = in(g, "x", {kRows, 3}), i = in(g, "i", {kN}, DType::kI32);
       g.output("y", gather(x, i, 0));
     },
     {{{"rows", 0}, {"n", 0}}, {{"rows", 12}, {"n", 0}}, {{"rows", 12}, {"n", 40}}}},
    {"sort and argsort",
     0,
     [](GraphBuilder& g) {
       const ValuesAndIndices sorted = sort(in(g, "x", {kRows, kN}), 1, true);
       g.output("values", sorted.values);
       g.output("indices", sorted.indices);
       g.output("columns", sort(in(g, "y", {kN, kRows}, DType::kI32), 0).indices);
     },
     {{{"rows", 0}, {"n", 4}},
      {{"rows", 3}, {"n", 0}},
      {{"rows", 2}, {"n", 1}},
      {{"rows", 3}, {"n", 100}},
      {{"rows", 1}, {"n", 5000}}}},
    {"topk of n and k",
     0,
     [](GraphBuilder& g) {
       const ValuesAndIndices top = topk(in(g, "x", {kRows, kN}), Dim("k").at_most(1000));
       g.output("values", top.values);
       g.output("indices", top.indices);
     },
     {{{"rows", 3}, {"n", 0}, {"k", 0}},
      {{"rows", 3}, {"n", 1}, {"k", 0}},
      {{"rows", 2}, {"n", 1}, {"k", 1}},
      {{"rows", 0}, {"n", 5}, {"k", 2}},
      {{"rows", 4}, {"n", 40}, {"k", 33}},
      {{"rows", 1}, {"n", 1000}, {"k", 1000}}}},
    {"an intermediate of one size after one of another",
     64,
     [](GraphBuilder& g) {
       T x = in(g, "x", {kRows, kRows}), y = in(g, "y", {kRows, kColumns});
       T z = matmul(matmul(x, x), y);
       g.output("z", matmul(transpose(z, {1, 0}), matmul(x, matmul(x, y))));
     },
     {{{"rows", 0}, {"columns", 2}}, {{"rows", 2}, {"columns", 9}}, {{"rows", 12}, {"columns", 3}}}},
};

std::vector<Tensor> inputs_of(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (const NodeId id : graph.inputs) {
    const TensorType& type = graph.type({id, 0});
    // Indices stay inside the twelve rows of the gather.
    const bool is_index = type.dtype == DType::kI32;
    inputs.push_back(random_tensor(type, is_index ? -12 : -1, is_index ? 12 : 1, inputs.size() + 1));
  }
  return inputs;
}

/// The values of the symbols that no input gives.
std::vector<DimBinding> named_dims(const Program& program, const SymbolValues& values) {
  std::vector<DimBinding> dims;
  for (const Dim& dim : program.named_dims()) dims.push_back({dim.name(), values.at(dim.name())});
  return dims;
}

std::string difference(const Tensor& found, const Tensor& expected, double max_ulp) {
  if (!is_float(expected.type.dtype)) return test::find_difference(found, expected, {});
  // Inputs are of magnitude 1: an error of that many ulp of the largest value.
  std::vector<long double> bounds;
  long double largest = 1;
  for (const double value : reference::read_all<double>(expected))
    largest = std::max<long double>(largest, std::fabs(value));
  const long double epsilon = expected.type.dtype == DType::kF16 ? 0x1p-11L : 0x1p-24L;
  bounds.assign(static_cast<std::size_t>(expected.num_elements()),
                static_cast<long double>(max_ulp) * epsilon * largest);
  return test::find_difference(found, expected, {.bounds = bounds});
}

TEST_CASE("one program serves every size") {
  for (const DynamicProgram& dynamic : kPrograms) {
    CAPTURE(std::string(dynamic.name));
    GraphBuilder builder;
    dynamic.build(builder);
    const Graph graph = builder.finish().value();
    for (const CompileOptions& options : test::every_way_to_compile()) {
      CAPTURE(test::to_text(options));
      const Result<Program> program = compile(graph, options);
      REQUIRE(program.status().message() == "");
      for (const SymbolValues& values : dynamic.bindings) {
        std::string sizes;
        for (const auto& [name, value] : values) sizes += name + " = " + std::to_string(value) + " ";
        CAPTURE(sizes);
        const Graph bound = bind_graph(graph, values);
        const std::vector<Tensor> inputs = inputs_of(bound);
        const std::vector<Tensor> expected = evaluate_graph(bound, inputs);
        const Result<std::vector<Tensor>> found = test::run_guarded(*program, inputs, named_dims(*program, values));
        CHECK(found.status().message() == "");
        for (std::size_t i = 0; found.ok() && i < expected.size(); ++i) {
          CAPTURE(graph.outputs[i].name);
          CHECK(difference((*found)[i], expected[i], dynamic.max_ulp) == "");
        }
      }
    }
  }
}

}  // namespace
}  // namespace millrace
