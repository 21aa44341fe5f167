// SPDX-License-Identifier: Apache-2.0
// Sorts, TopK and scans in graphs on simulated GPUs give the oracle's results without a finding, and have no kernel or
// memory for unused results.
#include <doctest/doctest.h>

#include "millrace/graph/lowered_graph.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/check_graph.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

constexpr const char* kDevices[] = {"sim:gfx1100", "sim:gfx90a"};

CompileOptions on(const std::string& device) {
  CompileOptions options;
  options.context = test::test_context();
  options.device = device;
  return options;
}

Graph orders_of(const Shape& shape) {
  GraphBuilder builder("orders");
  Tensor x = builder.input("x", DType::kF32, shape);
  const auto [values, indices] = topk(x, 6);
  builder.output("largest", values);
  builder.output("largest_at", indices);
  builder.output("smallest", topk(x, 6, {.largest = false}).values);
  builder.output("smallest_at", topk(x, 5, {.largest = false}).indices);
  builder.output("ascending", sort(x).values);
  builder.output("descending_at", sort(x, -1, /*descending=*/true).indices);
  builder.output("sums", cumulative_sum(x));
  builder.output("maxima", cumulative_max(x, {.axis = 0, .exclusive = true, .reverse = true}));
  return builder.finish().value();
}

TEST_CASE("sorts, selections and scans on simulated GPUs are the oracle's" * test::Sliced()) {
  for (const std::string device : kDevices) {
    CAPTURE(device);
    for (const Shape& shape : {Shape{6}, Shape{3, 70}, Shape{2, 5000}}) {
      CAPTURE(shape.to_text());
      CHECK(test::check_graph(orders_of(shape), {}, on(device), 1) == "");
    }
    const Graph any = orders_of({Dim("rows"), Dim("n").at_least(6)});
    CHECK(test::check_graph(any, {{"rows", 3}, {"n", 4500}}, on(device), 2) == "");
    CHECK(test::check_graph(any, {{"rows", 0}, {"n", 6}}, on(device), 3) == "");
  }
}

TEST_CASE("a selection with a large k on simulated GPUs is the oracle's") {
  for (const std::string device : kDevices) {
    GraphBuilder builder("many");
    const auto [values, indices] = topk(builder.input("x", DType::kF32, {1, 9000}), 2100);
    builder.output("values", values);
    builder.output("indices", indices);
    CHECK(test::check_graph(builder.finish().value(), {}, on(device), 4) == "");
  }
}

/// What a GPU runs for the wanted ones of TopK's two results.
LoweredGraph lowered_topk(std::int64_t n, std::int64_t k, bool wants_values, bool wants_indices) {
  GraphBuilder builder("topk");
  const auto [values, indices] = topk(builder.input("x", DType::kF32, {n}), k);
  if (wants_values) builder.output("values", values);
  if (wants_indices) builder.output("indices", indices);
  const auto context = test::test_context();
  return lower_graph(builder.finish().value(), context->target("amdgpu:gfx90a").value()).value();
}

TEST_CASE("one TopK is one sequence of kernels on a GPU, whichever of its results are used") {
  for (const int wanted : {1, 2, 3}) {
    const bool wants_values = (wanted & 1) != 0, wants_indices = (wanted & 2) != 0;
    const std::size_t num_results = wanted == 3 ? 2 : 1;
    const LoweredGraph one = lowered_topk(200, 10, wants_values, wants_indices);
    CHECK(one.schedule.kernels.size() == 1);
    CHECK(one.schedule.kernels[KernelIndex{0}].info.num_buffers == 1 + num_results);
    CHECK(one.report.slab_bytes.is(0));
    const LoweredGraph two = lowered_topk(32000, 50, wants_values, wants_indices);
    CHECK(two.schedule.kernels.size() == 2);
    // The merge reads the input where values are wanted.
    CHECK(two.schedule.kernels[KernelIndex{1}].info.num_buffers == 1 + num_results + (wants_values ? 1 : 0));
    CHECK(two.report.slab_bytes.upper_bound() <= 8 * 50 * 8 + 64);  // 8 parts keep 50 words each
  }
}

}  // namespace
}  // namespace millrace
