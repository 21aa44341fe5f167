// SPDX-License-Identifier: Apache-2.0
// Operands of a concat are written by their producers into the result; a remaining copy gives its reason.
#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/check_graph.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/sliced.h"

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

/// Three products, and others that store rows in any layout, each in different columns.
Graph columns_of_all_kinds(const SizeExpr& rows) {
  GraphBuilder graph("columns");
  const Tensor x = graph.input("x", DType::kF32, {rows, 24}), w = graph.input("w", DType::kF32, {24, 24});
  std::vector<Tensor> parts = {softmax(x), transpose(transpose(x, {1, 0}) * 2.0, {1, 0}), reduce_max(x, {1}, true),
                               cast(argmax(x, 1, true), DType::kF32)};
  for (int i = 0; i < 3; ++i) parts.push_back(relu(matmul(x * double(i + 1), w)));
  graph.output("y", concat(parts, 1));
  return graph.finish().value();
}

TEST_CASE("columns of a result are written by their producers, at one timepoint" * test::Sliced()) {
  for (const SizeExpr& rows : {SizeExpr(1), SizeExpr(5), SizeExpr(Dim("n").at_least(1))}) {
    CAPTURE(rows.to_text());
    GraphBuilder graph("columns");
    std::vector<Tensor> parts;
    for (int i = 0; i < 16; ++i) {
      const Tensor x = graph.input("x" + std::to_string(i), DType::kF32, {rows, i % 3 + 1, 4});
      parts.push_back(i % 2 == 0 ? relu(x) : x * x + 1.0);
    }
    graph.output("y", concat(parts, 1));
    const Graph built = graph.finish().value(), kinds = columns_of_all_kinds(rows);
    for (const std::string_view target : {"cpu:baseline", "sim:gfx1100", "amdgpu:gfx90a"}) {
      CAPTURE(target);
      const LoweredGraph made = lowered(built, target);
      CHECK(made.schedule.steps.size() == 16);
      CHECK(last_timepoint(made.schedule) == 0);
      CHECK(made.schedule.slab_bytes.is(0));
      CHECK(copies_of(made).empty());
      CHECK(verify(made.schedule).message() == "");
      CHECK(copies_of(lowered(kinds, target)).empty());
    }
    for (const Graph* each : {&built, &kinds}) check_values(*each, {{{"n", 1}}, {{"n", 2}}, {{"n", 33}}});
  }
}

TEST_CASE("stacked results, heads of an attention and channels of images are written by their producers") {
  GraphBuilder graph("stacked");
  const Dim n = Dim("n").at_least(1);
  const Tensor x = graph.input("x", DType::kF32, {n, 6}), q = graph.input("q", DType::kF32, {n, 2, 8});
  const Tensor image = graph.input("image", DType::kF32, {n, 3, 6, 6});
  const Tensor filter = graph.input("filter", DType::kF32, {4, 3, 3, 3});
  graph.output("stack_inside", stack(std::vector{x * 3.0, x * x}, 1));
  graph.output("stack_last", stack(std::vector{x - 2.0, x + 1.0}, 2));
  const Tensor heads = reshape(q * 0.5, {n, 16});
  graph.output("heads", concat(std::vector{heads, relu(x)}, 1));
  graph.output("channels",
               concat(std::vector{conv2d(image, filter), relu(slice(image, {0, 0, 1, 1}, {n, 3, 5, 5}))}, 1));
  const Graph built = graph.finish().value();
  CHECK(fmt::format("{}", fmt::join(copies_of(lowered(built)), "; ")) == "");
  check_values(built, {{{"n", 1}}, {{"n", 3}}});
}

TEST_CASE("a padded value is written into the result of its pad, which fills the rest") {
  const Dim n = Dim("n").at_least(1);
  for (const SizeExpr& rows : {SizeExpr(3), SizeExpr(n)}) {
    CAPTURE(rows.to_text());
    GraphBuilder graph("padded");
    const Tensor x = graph.input("x", DType::kF32, {rows, 5, 16}), h = graph.input("h", DType::kBF16, {rows, 5, 48});
    graph.output("outer", pad(exp(x), {1, 0, 0}, {2, 0, 0}, -1.5));
    graph.output("middle", pad(x * x, {0, 2, 0}, {0, 1, 0}));
    graph.output("inner", pad(relu(h), {0, 0, 0}, {0, 0, 3}, 7));
    graph.output("sum", pad(reduce_sum(x, {1}), {0, 2}, {0, 0}));
    graph.output("scan", pad(cumulative_sum(x), {rows, 0, 0}, {0, 0, 0}));
    const Graph built = graph.finish().value();
    for (const std::string_view target : {"cpu:baseline", "sim:gfx1100"}) {
      const LoweredGraph made = lowered(built, target);
      CHECK(copies_of(made).empty());
      CHECK(last_timepoint(made.schedule) == 0);
      CHECK(verify(made.schedule).message() == "");
    }
    check_values(built, {{{"n", 1}}, {{"n", 4}}});
  }
}

TEST_CASE("the same holds for a pad along several axes") {
  const Dim n = Dim("n").at_least(1), h = Dim("h").at_least(1);
  for (const auto& [rows, height] : {std::pair<SizeExpr, SizeExpr>{3, 4}, {n, h}}) {
    CAPTURE(rows.to_text());
    GraphBuilder graph("padded");
    const Tensor x = graph.input("x", DType::kF32, {rows, 3, height, 16}), b = graph.input("b", DType::kU8, {5, 70});
    const Tensor filter = graph.input("filter", DType::kF32, {2, 3, 1, 1});
    graph.output("image", pad(exp(x), {0, 0, 1, 2}, {0, 0, 3, 1}, -1.5));
    graph.output("rows", pad(x * x, {1, 0, 2, 0}, {0, 0, 0, 0}));
    graph.output("corners", pad(relu(x), {1, 0, 0, 1}, {0, 1, 0, 0}, 7));
    graph.output("all", pad(x + 1.0, {1, 2, 3, 4}, {4, 3, 2, 1}));
    graph.output("conv", pad(conv2d(x, filter), {0, 0, 1, 1}, {0, 0, 1, 1}));
    graph.output("product", pad(matmul(x, graph.input("w", DType::kF32, {16, 16})), {0, 0, 1, 0}, {0, 2, 0, 1}));
    graph.output("sum", pad(reduce_sum(x, {1}), {0, 1, 0}, {2, 0, 0}));
    graph.output("reshaped", pad(reshape(x - 2.0, {rows, 3, height, 4, 4}), {0, 0, 0, 1, 0}, {0, 1, 0, 0, 0}));
    graph.output("bytes", pad(b + 1, {1, 2}, {3, 4}, 9));
    const Graph built = graph.finish().value();
    for (const std::string_view target : {"cpu:baseline", "cpu:avx512", "sim:gfx1100"}) {
      CAPTURE(target);
      const LoweredGraph made = lowered(built, target);
      CHECK(fmt::format("{}", fmt::join(copies_of(made), "; ")) == "");
      CHECK(last_timepoint(made.schedule) == 0);
      CHECK(verify(made.schedule).message() == "");
    }
    check_values(built, {{{"n", 1}, {"h", 1}}, {{"n", 4}, {"h", 5}}});
  }
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
        std::vector<std::string>{"%x is an input", "%k is a constant", "%a is already in the memory of %y",
                                 "%b is an output, too", "%a is already in the memory of %y",
                                 "cumulative_sum stores %d with its rows side by side",
                                 "%c is already in the memory of %z"});
  check_values(*built);
}

TEST_CASE("a copy whose rows would not be contiguous, and one of a pad, name their reasons") {
  struct Row {
    Tensor (*build)(Tensor x);  // of x: f32[4x6]
    std::vector<std::string> reasons;
  };
  const std::vector<Row> rows = {
      {[](Tensor x) {
         const Tensor a = cumulative_sum(x);
         return pad(concat({a, exp(x)}, 0), {0, 1}, {0, 0});
       },
       {"operands of %3 are in its memory, side by side"}},
      {[](Tensor x) {
         const Tensor a = exp(x), y = concat({a, a}, 1);
         return y;
       },
       {"%1 is read elsewhere, where its rows are side by side",
        "%1 is read elsewhere, where its rows are side by side"}},
      {[](Tensor x) {
         const Tensor a = matmul(x, transpose(x, {1, 0}));
         return concat({a, exp(a)}, 1);
       },
       {"%2 is read elsewhere, where its rows are side by side",
        "rows of %3 are short, and computing them side by side is faster"}},
      {[](Tensor x) { return concat({matmul(x, transpose(x, {1, 0})), exp(x)}, 1); },
       {"rows of %2 are short, and computing them side by side is faster",
        "rows of %3 are short, and computing them side by side is faster"}},
      {[](Tensor x) { return concat({reshape(exp(x), {3, 8}), reshape(sqrt(x), {3, 8})}, 1); },
       {"no outer dims of %2 match the rows of the result", "no outer dims of %4 match the rows of the result"}},
      {[](Tensor x) { return pad(relu(x), {1, 0}, {0, 1}); },
       {"rows of %3 are short, and computing them side by side is faster"}},
      {[](Tensor x) { return pad(reshape(relu(x), {2, 3, 4}), {0, 1, 1}, {0, 1, 1}); },
       {"no outer dims of %4 match the rows of the result"}},
      {[](Tensor x) { return pad(x, {0, 0}, {0, 1}); }, {"%x is an input"}},
      {[](Tensor x) {
         const SizeExpr n = Dim("n").at_most(4);
         const Tensor a = broadcast_to(reshape(slice(x, {0, 0}, {n, 6}), {n, 6, 1}), {n, 6, 16});
         return pad(a * 2.0, {0, 0, 1}, {0, 0, 0});
       },
       {"%6 may have no rows; if its dims are never 0, promise it: at_least(1)"}},
      {[](Tensor x) {
         const SizeExpr n = Dim("n").at_least(1).at_most(3), m = Dim("m").at_least(1).at_most(5);
         const Tensor a = broadcast_to(slice(x, {0, 0}, {1, 1}), {2, 4 - n, 4 - n, m * 16});
         return pad(a * 2.0, {0, n, n, 0}, {0, 0, 0, 0});
       },
       {"the rows of %5 are not known to be apart"}},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    GraphBuilder graph("copies");
    graph.output("y", rows[i].build(graph.input("x", DType::kF32, {4, 6})));
    const Graph built = graph.finish().value();
    CAPTURE(to_text(built));
    CHECK(fmt::format("{}", fmt::join(copies_of(lowered(built)), "; ")) ==
          fmt::format("{}", fmt::join(rows[i].reasons, "; ")));
    check_values(built, {{{"n", i == rows.size() - 1 ? 1 : 0}, {"m", 2}}, {{"n", 3}, {"m", 5}}});
  }
}

}  // namespace
}  // namespace millrace
