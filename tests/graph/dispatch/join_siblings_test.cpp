// SPDX-License-Identifier: Apache-2.0
// Reductions that read one value over the same axes share a kernel, and compute what they compute alone.
#include <random>

#include <doctest/doctest.h>

#include "tests/graph/dispatch/formed.h"
#include "tests/support/graphs/check_graph.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

TEST_CASE("reductions of one value over the same axes are one kernel, with work before and after them") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {4, 8});
  graph.output("spread", reduce_max(x, {1}) - reduce_min(x, {-1}));
  graph.output("squares", sqrt(reduce_sum(x * x, {1})));
  graph.output("mean", reduce_mean(x, {1}));
  const DispatchGraph dispatch = formed(graph);
  CHECK(shape_of(dispatch) == "reduce_min reduce_max sub mul reduce_sum sqrt reduce_mean -> 3\n");
  const std::vector<std::string>& reasons = dispatch.regions[RegionId{0}].reasons;
  REQUIRE(reasons.size() == 6);
  CHECK(reasons[0] == "%2 and %1 over the same axes: one kernel reads %x for both");
}

TEST_CASE("siblings have equal axes, keep the same dims, and do not need each other") {
  const auto shape = [](auto build) {
    GraphBuilder graph;
    build(graph, graph.input("x", DType::kF32, {4, 8}));
    return shape_of(formed(graph));
  };
  CHECK(shape([](GraphBuilder& graph, Tensor x) {
          graph.output("rows", reduce_sum(x, {1}));
          graph.output("columns", reduce_max(x, {0}));
        }) == "reduce_sum -> 1\nreduce_max -> 1\n");
  CHECK(shape([](GraphBuilder& graph, Tensor x) {
          graph.output("kept", reduce_sum(x, {1}, true));
          graph.output("dropped", reduce_max(x, {1}));
        }) == "reduce_sum -> 1\nreduce_max -> 1\n");
  CHECK(shape([](GraphBuilder& graph, Tensor x) {
          graph.output("largest", reduce_max(x, {1}));
          graph.output("index", argmax(x, 1));
        }) == "reduce_max argmax -> 2\n");
  // Of another value, or of the same value through a view.
  CHECK(shape([](GraphBuilder& graph, Tensor x) {
          graph.output("sum", reduce_sum(x, {1}));
          graph.output("other", reduce_max(graph.input("z", DType::kF32, {4, 8}), {1}));
          graph.output("turned", reduce_max(reshape(transpose(x, {1, 0}), {4, 8}), {1}));
        }) == "reduce_sum -> 1\nreduce_max -> 1\ntranspose -> 1\nreduce_max -> 1\n");
}

TEST_CASE("gathers of equal shape from one value, and what reads them, are one kernel") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {4, 8});
  const Tensor below = graph.input("below", DType::kI64, {16}), above = graph.input("above", DType::kI64, {16});
  const Tensor share = graph.input("share", DType::kF32, {4, 16});
  const Tensor low = gather(x, below, 1), high = gather(x, above, 1);
  graph.output("between", low * (1.0 - share) + high * share);
  CHECK(shape_of(formed(graph)) == "gather gather mul broadcast sub mul add -> 1\n");

  GraphBuilder axes;  // along different axes, with results of one shape
  const Tensor cube = axes.input("cube", DType::kF32, {3, 5, 5});
  axes.output("outer", gather(cube, axes.input("i", DType::kI64, {3, 4}), 0));
  axes.output("inner", gather(cube, axes.input("j", DType::kI64, {4, 5}), 1));
  CHECK(formed(axes).regions.size() == 1);

  GraphBuilder apart;  // of other shapes
  const Tensor table = apart.input("table", DType::kF32, {8, 8});
  const Tensor few = apart.input("few", DType::kI64, {3}), many = apart.input("many", DType::kI64, {4});
  apart.output("few_rows", gather(table, few, 0));
  apart.output("many_rows", gather(table, many, 0));
  apart.output("columns", gather(table, few, 1));
  CHECK(formed(apart).regions.size() == 3);
}

TEST_CASE("a reduction over dims of extent 1 has no siblings, because its result has the points of its operand") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {5, 1});
  const Tensor largest = reduce_max(x, {1}, true);
  graph.output("largest", largest);
  graph.output("smallest", reduce_min(x, {1}, true));
  graph.output("sum", reduce_sum(x - largest, {1}, true));
  CHECK(shape_of(formed(graph)) == "reduce_max sub -> 2\nreduce_min -> 1\nreduce_sum -> 1\n");
}

TEST_CASE("at most four siblings share a kernel") {
  GraphBuilder graph;
  const Tensor x = graph.input("x", DType::kF32, {4, 8});
  for (int i = 0; i < 6; ++i) graph.output("y" + std::to_string(i), reduce_sum(x * (i + 2.0), {1}));
  const DispatchGraph dispatch = formed(graph);
  REQUIRE(dispatch.regions.size() == 2);
  CHECK(dispatch.regions[RegionId{0}].outputs.size() == 4);
  CHECK(dispatch.regions[RegionId{1}].outputs.size() == 2);
}

/// Two to six reductions of values that read x, with work before some of them, and results of two after others.
Graph random_siblings(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  constexpr DType kDTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64,
                               DType::kI32, DType::kU8,  DType::kI64};
  constexpr std::int64_t kExtents[] = {1, 2, 3, 7, 16, 33, 130, 300};
  GraphBuilder graph;
  const DType dtype = kDTypes[random() % std::size(kDTypes)];
  const std::size_t rank = 1 + random() % 3;
  std::vector<SizeExpr> dims;
  std::int64_t num_elements = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t extent = kExtents[random() % (num_elements > 300 ? 3 : std::size(kExtents))];
    num_elements *= extent;
    dims.emplace_back(random() % 5 == 0 ? SizeExpr(Dim("n" + std::to_string(d)).at_least(1)) : SizeExpr(extent));
  }
  const Tensor x = graph.input("x", dtype, Shape(dims)), z = graph.input("z", dtype, Shape(dims));
  std::vector<std::int64_t> axes;
  for (std::size_t d = 0; d < rank; ++d) {
    if (axes.empty() ? d + 1 == rank || random() % 2 == 0 : random() % 2 == 0)
      axes.push_back(static_cast<std::int64_t>(d));
  }
  const bool keep_dims = random() % 2 == 0;
  const auto operand = [&]() -> Tensor {
    switch (random() % 4) {
      case 0:
        return x;
      case 1:
        return max(x, z);
      case 2:
        return x - z;
      default:
        return z;
    }
  };
  const auto reduce = [&](const Tensor& value) {
    constexpr Tensor (*kReductions[])(Tensor, std::vector<std::int64_t>, bool) = {reduce_sum, reduce_max, reduce_min,
                                                                                  reduce_sum, reduce_mean};
    return kReductions[random() % (is_float(dtype) ? 5 : 4)](value, axes, keep_dims);
  };
  Tensor last = reduce(operand());
  graph.output("first", last);
  const std::size_t count = 1 + random() % 5;
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor next = reduce(operand());
    if (random() % 2 == 0) graph.output("y" + std::to_string(i), next);
    last = random() % 2 == 0 ? last - next : next;
  }
  graph.output("last", last);
  return graph.finish().value();
}

TEST_CASE("siblings equal the oracle in every dtype, on every level and a simulated GPU, a slice at a time") {
  std::vector<CompileOptions> ways = test::every_way_to_compile();
  const std::size_t num_cpu_ways = ways.size();
  for (const char* device : {"isa:gfx1100", "isa:gfx90a"}) {
    ways.push_back({.device = device, .context = test::isa_context()});
  }
  const test::Slice slice = test::tested_slice_of_long_cases();
  std::size_t num_joined = 0;
  for (std::uint64_t seed = 1; seed <= 480; ++seed) {
    CAPTURE(seed);
    const Graph graph = random_siblings(seed);
    num_joined += formed(graph).regions.size() == 1 ? 1 : 0;
    if (!slice.has(seed)) continue;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (i >= num_cpu_ways && seed / slice.count % 4 != i - num_cpu_ways) continue;  // executing GPU code is slow
      const std::int64_t extent = 1 + static_cast<std::int64_t>(seed * 7 % 60);
      const std::string wrong =
          test::check_graph(graph, {{"n0", extent}, {"n1", extent}, {"n2", extent}}, ways[i], seed);
      CHECK_MESSAGE(wrong.empty(), test::to_text(ways[i]), ": ", wrong);
    }
  }
  CHECK(num_joined > 240);
}

}  // namespace
}  // namespace millrace
