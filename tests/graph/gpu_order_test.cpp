// SPDX-License-Identifier: Apache-2.0
// TopK in graphs for GPUs: no kernel and no memory for what is not used.
#include <doctest/doctest.h>

#include "millrace/millrace.h"
#include "tests/support/run_graph.h"

namespace millrace {
namespace {

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
