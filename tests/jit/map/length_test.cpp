// SPDX-License-Identifier: Apache-2.0
// The length of the code of kernels for CPUs.
#include <doctest/doctest.h>

#include "jit/map/code_estimate.h"
#include "millrace/jit/machine_builder.h"
#include "millrace/jit/map_kernel.h"
#include "tests/jit/map/nests.h"

namespace millrace {
namespace {

using test::transpose_nest;

constexpr IsaLevel kLevels[] = {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512};

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

/// The type of the first interleave: "u8x16".
std::string interleaved_type(const std::string& text) {
  const std::size_t at = text.find(" = interleave "), end = text.find('\n', at);
  const std::size_t type = text.rfind(" : ", end);
  return at == std::string::npos ? "" : text.substr(type + 3, end - type - 3);
}

TEST_CASE("a long epilogue of a contraction is emitted once per kind of tile") {
  for (const IsaLevel level : kLevels) {
    const TargetSpec target{"cpu", level};
    const auto num_negations = [&](const SizeExpr& m, const SizeExpr& n) {
      return count(to_text(map_kernel(test::negated_matmul_nest(m, n, 512, 100), target).value()), " = neg ");
    };
    CAPTURE(target.to_text());
    CHECK(num_negations(Dim("m").multiple_of(240), Dim("n").multiple_of(240)) == 100);
    CHECK(num_negations(Dim("m"), Dim("n").multiple_of(240)) == 200);
    CHECK(num_negations(Dim("m"), Dim("n")) == 400);
  }
}

TEST_CASE("a short epilogue of a contraction stays in registers") {
  for (const IsaLevel level : kLevels) {
    const Tiling tiling = choose_tiling(test::negated_matmul_nest(Dim("m"), Dim("n"), 512, 3), {"cpu", level});
    CHECK_FALSE(tiling.loops_epilogue);
    CHECK(tiling.row_unroll * tiling.vector_unroll > 1);
  }
}

TEST_CASE("ops that LLVM splits into lanes get smaller tiles") {
  for (const IsaLevel level : kLevels) {
    for (const DType dtype : {DType::kU8, DType::kBool, DType::kI16, DType::kF16, DType::kF32, DType::kF64}) {
      const TargetSpec target{"cpu", level};
      CAPTURE(target.to_text());
      CAPTURE(to_text(dtype));
      for (const LoopKernel& nest : {transpose_nest(dtype, 1024, 4096), transpose_nest(dtype, Dim("m"), Dim("n"))}) {
        CHECK(estimate_instructions(map_kernel(nest, target).value(), target) <= kMaxKernelInstructions);
      }
    }
  }
}

TEST_CASE("a transposed operand is read as rows and transposed in registers") {
  for (const IsaLevel level : kLevels) {
    for (const DType dtype : {DType::kU8, DType::kBool, DType::kI16, DType::kF16, DType::kBF16, DType::kF32}) {
      const TargetSpec target{"cpu", level};
      CAPTURE(target.to_text());
      CAPTURE(to_text(dtype));
      const std::string whole = to_text(map_kernel(transpose_nest(dtype, 1024, 4096), target).value());
      CHECK(count(whole, "gather") == 0);
      REQUIRE(count(whole, " = interleave ") > 0);
      // The last columns do not make the blocks smaller.
      const std::string any = to_text(map_kernel(transpose_nest(dtype, Dim("m"), Dim("n")), target).value());
      CHECK(interleaved_type(any) == interleaved_type(whole));
    }
  }
}

TEST_CASE("16-bit floats that are moved are not converted") {
  for (const IsaLevel level : kLevels) {
    for (const DType dtype : {DType::kF16, DType::kBF16}) {
      const std::string text = to_text(map_kernel(transpose_nest(dtype, Dim("m"), Dim("n")), {"cpu", level}).value());
      CHECK(count(text, "f32") == 0);
    }
  }
}

TEST_CASE("a transpose with many strides that a run binds has smaller blocks") {
  const TargetSpec target{"cpu", IsaLevel::kAvx512};
  LoopKernelBuilder nest("transpose");
  std::vector<SizeExpr> from;
  for (int d = 0; d < 8; ++d) from.push_back(Dim("n" + std::to_string(d)));
  const Shape to({from.rbegin(), from.rend()});
  const std::vector<AffineIndex> point = nest.parallel_dims(to);
  const OperandId x = nest.operand("x", {DType::kF32, Shape(from)});
  nest.store("y", {DType::kF32, to}, point, nest.load(nest.epilogue(), x, {point.rbegin(), point.rend()}));
  const std::string many = to_text(map_kernel(nest.finish().value(), target).value());
  const std::string two = to_text(map_kernel(transpose_nest(DType::kF32, Dim("m"), Dim("n")), target).value());
  CHECK(count(many, " = interleave ") * 2 <= count(two, " = interleave "));
}

TEST_CASE("an estimate counts the lanes of ops without an instruction of the target") {
  const auto estimate = [](DType dtype, IsaLevel level) {
    MachineBuilder b("gathers");
    const MemoryHandle x = b.buffer("x", dtype, BufferAccess::kRead), y = b.buffer("y", dtype, BufferAccess::kWrite);
    const MachineValue all = b.splat(b.constant_int(DType::kBool, 1), 16);
    const MachineValue offsets = b.lane_iota(DType::kI64, 16);
    const std::int64_t before = estimate_instructions(MachineBuilder(b).finish(), {"cpu", level});
    b.store(y, b.i64(0), b.gather(x, offsets, all, b.splat(b.constant_int(dtype, 0), 16)));
    return estimate_instructions(b.finish(), {"cpu", level}) - before;
  };
  for (const DType dtype : {DType::kU8, DType::kU16}) {
    CHECK(estimate(dtype, IsaLevel::kAvx512) > 3 * 16);
    CHECK(estimate(dtype, IsaLevel::kBaseline) > 3 * 16);
  }
  CHECK(estimate(DType::kI32, IsaLevel::kBaseline) > 3 * 16);
  CHECK(estimate(DType::kI32, IsaLevel::kAvx512) < 3 * 16);
}

}  // namespace
}  // namespace millrace
