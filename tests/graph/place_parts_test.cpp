// SPDX-License-Identifier: Apache-2.0
// Operands of a concat are written by their producers where the result has them; what is still copied says why.
#include <algorithm>

#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/support/check_graph.h"
#include "tests/support/run_graph.h"

namespace millrace {
namespace {

LoweredGraph lowered(const Graph& graph, std::string_view target = "cpu:baseline") {
  Result<LoweredGraph> result = lower_graph(graph, test::test_context()->target(target).value());
  REQUIRE_MESSAGE(result.ok(), result.status().message());
  return *std::move(result);
}

std::vector<std::string> copies_of(const LoweredGraph& graph) {
  std::vector<std::string> reasons;
  for (const Region& region : graph.dispatch.regions) {
    for (const CopiedOperand& copy : region.copies) reasons.push_back(copy.reason);
  }
  return reasons;
}

std::uint32_t last_timepoint(const Schedule& schedule) {
  return std::ranges::max(schedule.steps, {}, &Step::timepoint).timepoint;
}

/// On every ISA level and on the simulator, against the oracle.
void check_values(const Graph& graph, const std::vector<SymbolValues>& bindings = {{}}) {
  std::vector<CompileOptions> ways = test::every_way_to_compile();
  ways.pop_back();  // the interpreter: every graph is compared with it
  ways.resize(ways.size() + 1);
  ways.back().context = test::test_context();
  ways.back().device = "sim:gfx1100";
  for (const CompileOptions& options : ways) {
    CAPTURE(test::to_text(options));
    for (const SymbolValues& values : bindings) CHECK(test::check_graph(graph, values, options, 1) == "");
  }
}

Graph parts_of_16(const SizeExpr& columns) {
  GraphBuilder graph("parts");
  std::vector<Tensor> parts;
  for (int i = 0; i < 16; ++i) {
    const Tensor x = graph.input("x" + std::to_string(i), DType::kF32, {i % 3 + 1, columns});
    parts.push_back(i % 2 == 0 ? relu(x) : x * x + 1.0);
  }
  graph.output("y", concat(parts, 0));
  return graph.finish().value();
}

TEST_CASE("a concat of 16 dispatches: no copy, one timepoint") {
  for (const SizeExpr& columns : {SizeExpr(7), SizeExpr(Dim("n"))}) {
    CAPTURE(columns.to_text());
    const Graph graph = parts_of_16(columns);
    for (const std::string_view target : {"cpu:baseline", "sim:gfx1100", "amdgpu:gfx90a"}) {
      CAPTURE(target);
      const LoweredGraph made = lowered(graph, target);
      CHECK(made.schedule.steps.size() == 16);
      CHECK(last_timepoint(made.schedule) == 0);
      CHECK(made.schedule.slab_bytes.is(0));
      CHECK(copies_of(made).empty());
      CHECK(verify(made.schedule).message() == "");
    }
    check_values(graph, {{{"n", 0}}, {{"n", 1}}, {{"n", 33}}});
  }
}

TEST_CASE("sorts, selections, scans, dots and reductions write their parts, too") {
  GraphBuilder graph("kinds");
  const Dim n("n");
  const Tensor x = graph.input("x", DType::kF32, {4, n}), w = graph.input("w", DType::kF32, {n, n});
  const std::vector<Tensor> parts = {sort(x).values, topk(x, n).values,        cumulative_sum(x),   matmul(x, w),
                                     softmax(x),     reduce_sum(x, {0}, true), transpose(w, {1, 0})};
  graph.output("y", concat(parts, 0));
  const Graph built = graph.finish().value();
  const LoweredGraph made = lowered(built);
  CHECK(copies_of(made).empty());
  check_values(built, {{{"n", 1}}, {{"n", 9}}});
}

TEST_CASE("a part that others read, parts of parts, and a part that is made from another") {
  GraphBuilder graph("nested");
  const Tensor x = graph.input("x", DType::kF32, {3, 5});
  const Tensor a = cumulative_sum(x), b = softmax(a), c = exp(x);
  const Tensor inner = concat(std::vector{a, b}, 0);
  const Tensor outer = concat(std::vector{c, reshape(inner, {6, 5}), sort(b).values}, 0);
  graph.output("sum", reduce_sum(a, {0}));
  graph.output("inner_max", reduce_max(inner, {1}));
  graph.output("order", cumulative_sum(outer));
  const Graph built = graph.finish().value();
  const LoweredGraph made = lowered(built);
  CHECK(copies_of(made).empty());
  check_values(built);
}

TEST_CASE("a copy that remains names its reason") {
  const Result<Graph> built = parse_graph(
      "graph copies(%x: f32[2x3]) {\n"
      "  %k = constant(1, 2, 3, 4, 5, 6) : f32[2x3]\n"
      "  %a = exp(%x) : f32[2x3]\n"
      "  %b = cumulative_sum(%x) {axis = 0} : f32[2x3]\n"
      "  %c = sqrt(%a) : f32[2x3]\n"
      "  %d = cumulative_sum(%c) {axis = 0} : f32[2x3]\n"
      "  %y = concat(%x, %k, %a, %a, %b) {axis = 0} : f32[10x3]\n"
      "  %z = concat(%a, %c) {axis = 0} : f32[4x3]\n"
      "  %w = concat(%d, %c) {axis = 1} : f32[2x6]\n"
      "  return b = %b, y = %y, z = %z, w = %w\n"
      "}\n");
  REQUIRE_MESSAGE(built.ok(), built.status().message());
  CHECK(copies_of(lowered(*built)) ==
        std::vector<std::string>{"%x is an input", "%k is a constant", "%a is in the memory of %y already",
                                 "%b is an output, too", "%a is in the memory of %y already",
                                 "rows of %d are apart in the result", "%c is in the memory of %z already"});
  check_values(*built);
}

}  // namespace
}  // namespace millrace
