// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "millrace/jit/map_kernel.h"
#include "tests/jit/map/nests.h"
#include "tests/support/golden.h"

namespace millrace {
namespace {

using test::golden_problem;
using test::matmul_nest;
using test::unary_nest;

std::string mapped_text(const LoopKernel& kernel, IsaLevel level) {
  const Result<MachineKernel> machine = map_kernel(kernel, {"cpu", level});
  REQUIRE(machine.status().message() == "");
  return to_text(*machine);
}

LoopKernel relu(const SizeExpr& n) {
  return unary_nest("relu", DType::kF32, DType::kF32, {n},
                    [](auto& b, auto x) { return b.max(x, b.constant_like(x, 0)); });
}

TEST_CASE("a map of unknown size is divided into groups; whole tiles, then masked vectors") {
  CHECK(golden_problem("cpu_map_unknown_size.txt", mapped_text(relu(Dim("n").at_least(1)), IsaLevel::kAvx2)) == "");
}

TEST_CASE("a fact leaves out the remainder") {
  CHECK(golden_problem("cpu_map_whole_tiles.txt",
                       mapped_text(relu(Dim("n").at_least(32768).multiple_of(32768)), IsaLevel::kAvx2)) == "");
}

TEST_CASE("a contraction keeps rows times vectors in registers and shares their common loads") {
  CHECK(golden_problem("cpu_contraction.txt", mapped_text(matmul_nest(2, 16, 5), IsaLevel::kAvx2)) == "");
}

TEST_CASE("a sum along rows keeps one vector, and joins its lanes at the end") {
  const LoopKernel sum = test::row_reduction_nest(ReductionKind::kSum, 3, 75);
  CHECK(golden_problem("cpu_row_sum.txt", mapped_text(sum, IsaLevel::kAvx2)) == "");
}

TEST_CASE("tilings are chosen by the strides of the accesses") {
  const TargetSpec avx512{"cpu", IsaLevel::kAvx512};
  const TargetSpec avx2{"cpu", IsaLevel::kAvx2};
  CHECK(to_text(choose_tiling(matmul_nest(512, 512, 512), avx512)) ==
        "tiling { d1 x 16 lanes x 3, rows d0 x 8, 512 points per group, stores may stream }");
  CHECK(to_text(choose_tiling(matmul_nest(512, 512, 512), avx2)) ==
        "tiling { d1 x 8 lanes x 2, rows d0 x 6, 512 points per group, stores may stream }");
  CHECK(to_text(choose_tiling(relu(1000000), avx2)) ==
        "tiling { d0 x 8 lanes x 4, rows d0 x 1, 65536 points per group, stores may stream }");
  CHECK(to_text(choose_tiling(test::transpose_nest(DType::kF32, 64, 64), avx2)) ==
        "tiling { d1 x 8 lanes x 4, rows d0 x 8, 65536 points per group, loads transposed }");
}

}  // namespace
}  // namespace millrace
