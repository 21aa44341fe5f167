// SPDX-License-Identifier: Apache-2.0
// Ops along rows, for rows around every width at which their code changes: a lane, a row of 16, a subgroup, two.
#include <doctest/doctest.h>

#include "jit/llvm_client/open_module.h"
#include "millrace/graph/code_object.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/jit/code_object.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/millrace.h"
#include "tests/support/graphs/run_graph.h"

namespace millrace {
namespace {

Graph along_rows(std::int64_t n) {
  GraphBuilder builder("rows");
  const Tensor x = builder.input("x", DType::kF32, {5, n}), ids = builder.input("ids", DType::kI64, {5, n});
  const Tensor scale = builder.input("scale", DType::kF32, {n}), bias = builder.input("bias", DType::kF32, {n});
  builder.output("sum", reduce_sum(x, {1}));
  builder.output("sum_i64", reduce_sum(ids, {1}));  // two words for each element
  builder.output("mean", reduce_mean(x, {1}));
  builder.output("max", reduce_max(x, {1}));
  builder.output("any", reduce_any(less(x, x * x), {1}));
  builder.output("argmax", argmax(x, 1));
  builder.output("scan", cumulative_sum(x, {.axis = 1}));
  builder.output("softmax", softmax(x));
  builder.output("layer_norm", layer_norm(x, scale, bias));
  builder.output("rms_norm", rms_norm(x, scale));
  return builder.finish().value();
}

std::string code_of(const std::vector<std::byte>& object, const CodeObjectKernel& kernel, const TargetSpec& spec) {
  return disassemble_with_llvm(std::span(object).subspan(kernel.code_offset, kernel.code_bytes), spec).value();
}

TEST_CASE("lanes exchange values along rows of every length only while all of them are on") {
  for (const GfxTarget& gfx : gfx_targets()) {
    const Target target = test::test_context()->target("amdgpu:" + std::string(gfx.name)).value();
    for (const std::int64_t n : {1, 2, 8, 9, 15, 16, 17, 24, 30, 31, 32, 33, 63, 64, 65, 70}) {
      CAPTURE(gfx.name);
      CAPTURE(n);
      const auto lowered = lower_graph(along_rows(n), target);
      REQUIRE(lowered.status().message() == "");
      const auto object = make_code_object(*lowered, target);
      REQUIRE(object.status().message() == "");
      const CodeObjectInfo info = read_code_object(*object).value();
      CHECK(info.kernels.size() > 5);
      std::size_t num_swaps = 0;  // kernels that take values from the other 16 lanes
      for (const CodeObjectKernel& kernel : info.kernels) {
        CHECK(kernel.inactive_lane_reads == std::vector<std::string>{});
        num_swaps += code_of(*object, kernel, target.spec()).find("v_permlanex16") != std::string::npos;
      }
      if (gfx.subgroup_size == 32 && 16 < n && n <= 32) CHECK(num_swaps > 4);
    }
  }
}

}  // namespace
}  // namespace millrace
