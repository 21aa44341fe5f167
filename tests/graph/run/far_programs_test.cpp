// SPDX-License-Identifier: Apache-2.0
// Programs on devices that do not address the host's memory compute the same as on the host.
#include "tests/graph/run/far_programs.h"

#include <algorithm>
#include <array>
#include <functional>
#include <random>

#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/op_cases.h"
#include "tests/reference/evaluate.h"
#include "tests/support/graphs/check_graph.h"
#include "tests/support/graphs/reference_graph.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/ops/op_driver.h"
#include "tests/support/ops/op_samples.h"
#include "tests/support/random/random_graph.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using T = millrace::Tensor;
using test::on_every_far;
using test::on_far;

struct FarProgram {
  const char* name;
  void (*build)(GraphBuilder&);
  std::vector<SymbolValues> bindings = {{}};
};

T in(GraphBuilder& g, const char* name, Shape shape, DType dtype = DType::kF32) {
  return g.input(name, dtype, std::move(shape));
}

const SizeExpr kRows = Dim("rows"), kN = Dim("n");

const FarProgram kPrograms[] = {
    {"elementwise", [](GraphBuilder& g) { g.output("y", gelu(in(g, "x", {5, 33}) * 2.0 + in(g, "z", {5, 33}))); }},
    {"elementwise of changing sizes",
     [](GraphBuilder& g) { g.output("y", exp(-in(g, "x", {kN})) + 1.0); },
     {{{"n", 7}}, {{"n", 4000}}, {{"n", 0}}, {{"n", 33}}}},
    {"bytes, bools and halves",
     [](GraphBuilder& g) {
       T x = in(g, "x", {41}, DType::kF16), i = in(g, "i", {41}, DType::kI8);
       g.output("less", less(cast(i, DType::kF16), x));
       g.output("sum", cast(i, DType::kI32) + cast(x, DType::kI32));
     }},
    {"matmul", [](GraphBuilder& g) { g.output("y", relu(matmul(in(g, "x", {17, 40}), in(g, "w", {40, 24})))); }},
    {"matmul of changing sizes",
     [](GraphBuilder& g) { g.output("y", matmul(in(g, "x", {kRows, 24}), in(g, "w", {24, kN}))); },
     {{{"rows", 3}, {"n", 5}}, {{"rows", 33}, {"n", 17}}, {{"rows", 0}, {"n", 4}}, {{"rows", 1}, {"n", 1}}}},
    {"reductions",
     [](GraphBuilder& g) {
       T x = in(g, "x", {4, 50});
       g.output("sum", reduce_sum(x, {1}));
       g.output("largest", reduce_max(x, {0, 1}));
       g.output("mean", reduce_mean(x, {0}));
       g.output("place", argmax(x, 1));
     }},
    {"softmax and norm",
     [](GraphBuilder& g) {
       T x = in(g, "x", {kRows, 30});
       g.output("p", softmax(x));
       g.output("n", layer_norm(x, in(g, "scale", {30}), in(g, "bias", {30})));
     },
     {{{"rows", 2}}, {{"rows", 19}}}},
    {"sort",
     [](GraphBuilder& g) {
       const ValuesAndIndices sorted = sort(in(g, "x", {3, 70}), -1, /*descending=*/true);
       g.output("values", sorted.values);
       g.output("indices", sorted.indices);
     }},
    {"argsort",
     [](GraphBuilder& g) { g.output("indices", sort(in(g, "x", {kN})).indices); },
     {{{"n", 5}}, {{"n", 300}}}},
    {"topk",
     [](GraphBuilder& g) {
       const ValuesAndIndices top = topk(in(g, "x", {6, 90}), 7);
       g.output("values", top.values);
       g.output("indices", top.indices);
     }},
    {"topk of a k that a run binds",
     [](GraphBuilder& g) { g.output("values", topk(in(g, "x", {2, 64}), Dim("k").at_most(64)).values); },
     {{{"k", 1}}, {{"k", 40}}, {{"k", 0}}}},
    {"cumulative scans",
     [](GraphBuilder& g) {
       T x = in(g, "x", {3, 45});
       g.output("sum", cumulative_sum(x));
       g.output("product", cumulative_prod(x, {.axis = 0}));
       g.output("largest", cumulative_max(x));
     }},
    {"moves",
     [](GraphBuilder& g) {
       T x = in(g, "x", {4, 6});
       g.output("t", transpose(x, {1, 0}));
       g.output("p", pad(x, {1, 0}, {0, 2}, 9));
       g.output("s", slice(x, {1, 1}, {4, 6}, {2, 2}));
     }},
    {"constants",
     [](GraphBuilder& g) {
       const std::array<float, 6> weights{1, -2, 3, -4, 5, -6};
       g.output("y", matmul(in(g, "x", {5, 3}), g.constant<float>({3, 2}, weights)) + g.fill(DType::kF32, {5, 2}, 0.5));
     }},
    {"an input that is an output, and a constant that is one",
     [](GraphBuilder& g) {
       T x = in(g, "x", {10});
       g.output("x again", x);
       g.output("three", g.fill(DType::kI32, {4}, 3));
       g.output("y", x + x);
     }},
    {"convolution",
     [](GraphBuilder& g) { g.output("y", relu(conv2d(in(g, "x", {1, 3, 9, 9}), in(g, "w", {4, 3, 3, 3})))); }},
    {"many arguments",
     [](GraphBuilder& g) {
       T sum;
       for (int i = 0; i < 40; ++i) {
         T x = g.input("x" + std::to_string(i), DType::kF32, {3});
         sum = i == 0 ? x : sum + x * static_cast<double>(i);
         if (i % 2 == 0) g.output("y" + std::to_string(i), sum);
       }
     }},
};

TEST_CASE("the results of a program on a far device are those that the oracle allows, at every size") {
  on_every_far([](const CompileOptions& options) {
    for (const FarProgram& program : kPrograms) {
      const std::string name = program.name;
      CAPTURE(name);
      GraphBuilder builder;
      program.build(builder);
      const Graph graph = builder.finish().value();
      for (const SymbolValues& values : program.bindings) CHECK(test::check_graph(graph, values, options, 1) == "");
    }
  });
}

/// The outputs for random inputs, in one session after another.
std::vector<reference::Tensor> outputs_of(const Program& program, const Graph& graph, const SymbolValues& values) {
  std::vector<DimBinding> dims;
  for (const Dim& dim : program.named_dims()) dims.push_back({dim.name(), values.at(dim.name())});
  const auto found = test::run_guarded(program, test::random_inputs(bind_graph(graph, values), 3), dims);
  REQUIRE(found.status().message() == "");
  return *found;
}

TEST_CASE("a far host computes the bits that the near one does") {
  CompileOptions near;
  near.context = test::test_context();
  for (const FarProgram& row : kPrograms) {
    const std::string name = row.name;
    CAPTURE(name);
    GraphBuilder builder;
    row.build(builder);
    const Graph graph = builder.finish().value();
    const Program here = compile(graph, near).value();
    const Program there = here.on(on_far("cpu").on_device).value();
    for (const SymbolValues& values : row.bindings) {
      const auto expected = outputs_of(here, graph, values), found = outputs_of(there, graph, values);
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i].bytes == expected[i].bytes);
    }
  }
}

TEST_CASE("random graphs on a far device are right") {
  const CompileOptions options = on_far("cpu");
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const test::RandomGraph random = test::make_random_graph(seed);
    CHECK(test::check_graph(random.graph, random.bindings.front(), options, seed) == "");
  }
}

/// One node on operands of the given types, all of its results used.
Graph graph_of(Op op, const Attributes& attributes, std::span<const reference::Tensor> operands) {
  GraphBuilder builder;
  std::vector<T> inputs;
  for (const reference::Tensor& operand : operands) {
    inputs.push_back(builder.input("x" + std::to_string(inputs.size()), operand.type.dtype, operand.type.shape));
  }
  const std::vector<T> results = builder.op(op, inputs, attributes);
  for (std::size_t i = 0; i < results.size(); ++i) builder.output("y" + std::to_string(i), results[i]);
  return builder.finish().value();
}

std::int64_t num_elements(const test::OpProblem& problem) {
  std::int64_t total = 0;
  for (const reference::Extents& extents : problem.operands) {
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) count *= extent;
    total += count;
  }
  return total;
}

constexpr std::int64_t kSmall = 256;  // elements of all operands

void check_on_far(const test::OpCase& row, const test::OpProblem& problem, DType dtype, const CompileOptions& options) {
  CAPTURE(to_text(row.op));
  CAPTURE(to_text(dtype));
  CAPTURE(num_elements(problem));
  std::mt19937_64 random(static_cast<unsigned>(row.op));
  const Attributes attributes = test::attributes_for(problem, dtype);
  const std::vector<reference::Tensor> operands = test::sample_operands(row, problem, dtype, random);
  const Result<Program> program = compile(graph_of(row.op, attributes, operands), options);
  REQUIRE(program.status().message() == "");
  const auto found = test::run_guarded(*program, operands);
  REQUIRE(found.status().message() == "");
  test::OpTrial trial;
  trial.op = row.op;
  trial.attributes = attributes;
  trial.operands = operands;
  trial.max_ulp = row.max_ulp;
  CHECK(test::compare_results(trial, *found, reference::evaluate(row.op, attributes, operands)) == "");
}

/// Gives each small problem of the row, and how many it gave.
std::size_t for_small_problems(const test::OpCase& row, const std::function<void(const test::OpProblem&)>& give) {
  std::size_t given = 0;
  for (const test::OpProblem& problem : row.problems(4)) {
    if (num_elements(problem) > kSmall) continue;
    give(problem);
    ++given;
  }
  return given;
}

TEST_CASE("every op, size and dtype of the small cases on a far simulated GPU equals the oracle" * test::Sliced()) {
  const CompileOptions options = on_far("sim:gfx1100");
  for (const test::OpCase& row : test::op_cases()) {
    CAPTURE(to_text(row.op));
    const std::size_t given = for_small_problems(row, [&](const test::OpProblem& problem) {
      for (const DType dtype : row.dtypes) check_on_far(row, problem, dtype, options);
    });
    CHECK(given > 0);
  }
}

TEST_CASE("every op and size of the small cases on a far host equals the oracle") {
  const CompileOptions options = on_far("cpu");
  for (const test::OpCase& row : test::op_cases()) {
    for_small_problems(row,
                       [&](const test::OpProblem& problem) { check_on_far(row, problem, row.dtypes[0], options); });
  }
}

}  // namespace
}  // namespace millrace
