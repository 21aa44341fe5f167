// SPDX-License-Identifier: Apache-2.0
// The second witness for whole graphs: fused regions for GPUs as machine code of the host.
#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/hal/sim_device.h"
#include "millrace/jit/kernel_cache.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/support/gpu/split_generator.h"
#include "tests/support/graphs/check_graph.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

CompileOptions split_for(const std::string& device) {
  auto context = std::make_shared<Context>();
  context->drivers = {sim_driver()};
  context->generators = {test::make_split_generator(), make_interpreter_generator()};
  context->cache = std::make_shared<KernelCache>(KernelCache::Options{});
  CompileOptions options;
  options.context = context;
  options.device = device;
  return options;
}

/// No infinity, whose product with a padded zero is NaN.
Tensor input(GraphBuilder& builder, const char* name, const Shape& shape) {
  return cast(builder.input(name, DType::kI8, shape), DType::kF32) * 0.02;
}

/// Maps before and behind reductions, a staged contraction, gathers and an order, with a batch that a run binds.
Graph attention_like() {
  GraphBuilder builder("attention_like");
  const Dim rows = Dim("rows").at_least(1).at_most(512);
  const Tensor x = input(builder, "x", {rows, 96}), w = input(builder, "w", {96, 64});
  const Tensor scores = softmax(gelu(matmul(x, w)));
  const auto [values, indices] = topk(scores, 4);
  builder.output("values", values);
  builder.output("rows", gather(transpose(w, {1, 0}), indices, 0));
  builder.output("sums", cumulative_sum(scores));
  return builder.finish().value();
}

Graph convolution() {
  GraphBuilder builder("convolution");
  const Tensor x = input(builder, "x", {1, 8, 9, 11}), w = input(builder, "w", {16, 8, 3, 3});
  builder.output("y", max_pool2d(relu(conv2d(x, w, {.padding = {1, 1, 1, 1}}))));
  return builder.finish().value();
}

TEST_CASE("graphs for GPUs give the oracle's values as machine code of the host" * test::Sliced()) {
  if (!TargetSpec{.isa = host_isa_levels().back()}.has_fma()) return;  // mul_add would round twice
  for (const std::string device : {"sim:gfx1100", "sim:gfx90a"}) {
    CAPTURE(device);
    CHECK(test::check_graph(attention_like(), {{"rows", 37}}, split_for(device), 1) == "");
    CHECK(test::check_graph(convolution(), {}, split_for(device), 1) == "");
    const Program program = compile(attention_like(), split_for(device)).value();
    for (const PlannedKernel& kernel : program.lowered().schedule.kernels) CHECK(kernel.generator == "split");
  }
}

}  // namespace
}  // namespace millrace
