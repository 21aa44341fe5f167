// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "millrace/jit/map_kernel.h"
#include "millrace/jit/memory_plan.h"
#include "tests/jit/map/nests.h"
#include "tests/support/golden.h"

namespace millrace {
namespace {

using test::golden_problem;

std::string mapped_text(const LoopKernel& kernel) {
  const Result<MachineKernel> machine = map_kernel(kernel, {.family = "amdgpu", .gfx = "gfx1100"});
  REQUIRE(machine.status().message() == "");
  return to_text(*machine);
}

LoopKernel relu(const SizeExpr& n) {
  return test::unary_nest("relu", DType::kF32, DType::kF32, {n},
                          [](auto& b, auto x) { return b.max(x, b.constant_like(x, 0)); });
}

TEST_CASE("a map of unknown size has at most one element per thread") {
  CHECK(golden_problem("gpu_map_unknown_size.txt", mapped_text(relu(Dim("n").at_least(1)))) == "");
}

TEST_CASE("a map whose size is a multiple of vectors has vectors") {
  CHECK(golden_problem("gpu_map_vectors.txt", mapped_text(relu(4096))) == "");
}

TEST_CASE("the threads of a workgroup share a long row, and join their sums") {
  CHECK(golden_problem("gpu_row_sum.txt", mapped_text(test::row_reduction_nest(ReductionKind::kSum, 3, 5000))) == "");
}

TEST_CASE("a contraction loads blocks that all threads of a workgroup multiply") {
  CHECK(golden_problem("gpu_contraction.txt", mapped_text(test::matmul_nest(64, 64, 40))) == "");
}

TEST_CASE("the plan of a contraction lists the padding of its blocks, and none for operands of the epilogue") {
  const TargetSpec target{.family = "amdgpu", .gfx = "gfx1100"};
  const LoopKernel kernel =
      test::matmul_nest(DType::kF32, 64, 64, 40, [](LoopKernelBuilder& nest, const auto& point, BodyValue sum) {
        BodyBuilder& b = nest.epilogue();
        return b.add(sum, nest.load(b, nest.operand("bias", {DType::kF32, {64, 64}}), point));
      });
  const MachineKernel machine = map_kernel(kernel, target).value();
  CHECK(to_text(plan_memory(machine, target).value()) ==
        "workgroup 2544 bytes, private 0 bytes\n"
        "#0 a: 1264 bytes of workgroup at 0, phases 0 to 2, 4 of 20 elements of a row are padding\n"
        "#1 b: 1264 bytes of workgroup at 1280, phases 0 to 2, 4 of 20 elements of a row are padding\n");
}

}  // namespace
}  // namespace millrace
