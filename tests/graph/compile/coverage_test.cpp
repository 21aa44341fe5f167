// SPDX-License-Identifier: Apache-2.0
// Nothing is forced here: an algorithm or generator that no ordinary program chooses by itself is dead code.
#include <doctest/doctest.h>

#include "jit/algorithms/algorithm.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"

namespace millrace {
namespace {

std::string kernels_of(GraphBuilder& builder, const std::shared_ptr<const Context>& context) {
  const Result<Program> program = compile(builder.finish().value(), {.context = context});
  REQUIRE_MESSAGE(program.ok(), program.status().message());
  return program->to_text(Stage::kKernels);
}

/// The same for a target; it needs no device.
std::string kernels_for(std::string_view target, GraphBuilder& builder, const Context& context) {
  const auto lowered = lower_graph(builder.finish().value(), context.target(target).value());
  REQUIRE_MESSAGE(lowered.ok(), lowered.status().message());
  return to_text(*lowered, Stage::kKernels);
}
std::string gpu_kernels_of(GraphBuilder& builder, const std::shared_ptr<const Context>& context) {
  return kernels_for("amdgpu:gfx1100", builder, *context);
}

TEST_CASE("every algorithm and every generator is chosen somewhere without being forced") {
  const auto context = make_default_context({.cache_directory = ""});
  std::string text;
  {
    GraphBuilder graph;
    Tensor x = graph.input("x", DType::kF32, {1, 32, 28, 28});
    Tensor w = graph.input("w", DType::kF32, {32, 32, 3, 3});
    graph.output("y", relu(conv2d(x, w, {.padding = {1, 1, 1, 1}})));
    text += kernels_of(graph, context);
  }
  {
    GraphBuilder graph;
    Tensor x = graph.input("x", DType::kF32, {256, 256});
    graph.output("y", matmul(x, x));
    text += kernels_of(graph, context);
  }
  for (const SizeExpr& n :
       {SizeExpr(8), SizeExpr(30), SizeExpr(Dim("n").at_most(30)), SizeExpr(100), SizeExpr(1'000'000)}) {
    for (const std::string_view target : {"cpu:baseline", "cpu:avx2"}) {
      GraphBuilder graph;
      graph.output("y", sort(graph.input("x", DType::kF32, {n})).values);
      text += kernels_for(target, graph, *context);
    }
  }
  {
    GraphBuilder graph;
    graph.output("y", topk(graph.input("x", DType::kF32, {100}), 10).values);
    text += kernels_for("cpu:baseline", graph, *context);
  }
  {
    GraphBuilder graph;
    graph.output("y", sort(graph.input("x", DType::kU8, {1000})).values);
    text += kernels_for("cpu:baseline", graph, *context);
  }
  for (const std::int64_t axis : {0, 1}) {
    GraphBuilder graph;
    Tensor x = graph.input("x", DType::kF32, {8, 40});
    Tensor i = graph.input("i", DType::kI32, {8});
    graph.output("y", scatter_add(x, i, cumulative_sum(x, {.axis = axis}), 0));
    text += kernels_of(graph, context);
  }
  {
    GraphBuilder graph;
    const Tensor x = graph.input("x", DType::kF32, {8'000'000});
    graph.output("first", topk(x, 10).values);
    graph.output("best", argmax(x, 0));
    graph.output("sums", cumulative_sum(x));
    graph.output("sum", reduce_sum(x, {0}));
    text += kernels_for("cpu:avx2", graph, *context);
  }
  for (const std::int64_t n : {100, 1'000'000}) {
    GraphBuilder graph;
    graph.output("y", sort(graph.input("x", DType::kF32, {n})).values);
    text += gpu_kernels_of(graph, context);
  }
  for (const auto& [n, k] : {std::pair{200, 10}, {32000, 10}, {32000, 5000}}) {
    GraphBuilder graph;
    graph.output("y", topk(graph.input("x", DType::kF32, {n}), k).values);
    text += gpu_kernels_of(graph, context);
  }
  for (const std::int64_t n : {100, 1'000'000}) {
    GraphBuilder graph;
    graph.output("y", cumulative_sum(graph.input("x", DType::kF32, {n})));
    text += gpu_kernels_of(graph, context);
  }
  {
    GraphBuilder graph;
    graph.output("y", cumulative_sum(graph.input("x", DType::kF32, {100, 2000}), {.axis = 0}));
    text += gpu_kernels_of(graph, context);
  }
  for (const Algorithm& algorithm : algorithms()) {
    const std::string name(algorithm.name);
    CAPTURE(name);
    CHECK(text.find("sequence \"" + name + "\"") != std::string::npos);
  }
  for (const auto& generator : context->generators) {
    const std::string name(generator->name());
    CAPTURE(name);
    // The reference is only taken when it is asked for.
    CHECK((text.find(" by " + name + " ") != std::string::npos) == (name != "interpreter"));
  }
}

}  // namespace
}  // namespace millrace
