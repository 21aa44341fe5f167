// SPDX-License-Identifier: Apache-2.0
// Nests as AMD GPU code objects: every kind of nest matches its plan, on every target and dtype.
#include <doctest/doctest.h>

#include "millrace/jit/map_kernel.h"
#include "millrace/jit/occupancy.h"
#include "tests/jit/llvm/gpu_support.h"
#include "tests/jit/map/nests.h"
#include "tests/support/sliced.h"

namespace millrace {
namespace {

using test::matmul_nest;
using test::row_reduction_nest;
using test::transpose_nest;
using test::unary_nest;

LoopKernel scale(DType dtype, const SizeExpr& n) {
  return unary_nest("scale", dtype, dtype, {n}, [](auto& b, auto x) { return b.mul(x, b.constant_like(x, 3)); });
}

/// A window of 3 along rows, with zeros around them.
LoopKernel window(DType dtype, const SizeExpr& m, const SizeExpr& n) {
  LoopKernelBuilder nest("window");
  const AffineIndex row = nest.parallel("m", m), column = nest.parallel("n", n), tap = nest.reduction("k", 3);
  const BodyValue x = nest.load(nest.term(), nest.operand("x", {dtype, {m, n}}), {row, column + tap - 1},
                                {.fill = Scalar::from_int(body_dtype(dtype), 0)});
  nest.store("y", {dtype, {m, n}}, {row, column}, nest.reduce(ReductionKind::kMax, x));
  return nest.finish().value();
}

/// Rows of a table by indices, which may be negative, or bad.
LoopKernel gather(DType dtype, const SizeExpr& rows, const SizeExpr& count, const SizeExpr& columns) {
  LoopKernelBuilder nest("gather");
  const AffineIndex i = nest.parallel("i", count), c = nest.parallel("c", columns);
  const OperandId table = nest.operand("table", {dtype, {rows, columns}});
  BodyBuilder& b = nest.epilogue();
  const BodyValue id = nest.load(b, nest.operand("ids", {DType::kI64, {count}}), {i});
  const BodyValue row = b.check_index(id, nest.extent(b, rows));
  nest.store("y", {dtype, {count, columns}}, {i, c}, nest.load(b, table, {AffineIndex{}, c}, {.gather_index = row}));
  return nest.finish().value();
}

std::vector<LoopKernel> all_nests(DType dtype) {
  const Dim m = Dim("m").at_least(1), n = Dim("n").at_least(1);
  return {scale(dtype, 4096),
          scale(dtype, n),
          transpose_nest(dtype, n, m),
          row_reduction_nest(ReductionKind::kSum, m, 4096, dtype),
          row_reduction_nest(ReductionKind::kMax, m, 100, dtype),
          row_reduction_nest(ReductionKind::kArgMax, m, n, dtype),
          row_reduction_nest(ReductionKind::kArgMin, 100, n, dtype),
          matmul_nest(512, 512, 512, dtype),
          matmul_nest(4096, 4096, 4096, dtype),
          matmul_nest(m, 100, n, dtype),
          window(dtype, m, n),
          gather(dtype, m, n, 64)};
}

TEST_CASE("every kind of nest is an object that matches its plan, on every GPU target and dtype" * test::Sliced()) {
  for (const GfxTarget& gfx : gfx_targets()) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32}) {
      // What differs between targets of one kind does not differ between dtypes.
      if (dtype != DType::kF32 && gfx.name != "gfx1100" && gfx.name != "gfx90a") continue;
      for (const LoopKernel& nest : all_nests(dtype)) {
        CAPTURE(nest.name);
        CAPTURE(gfx.name);
        CAPTURE(dtype);
        // Emission checks the object against the plan.
        const EmittedGpuKernel kernel(map_kernel(nest, spec_of(gfx)).value(), gfx);
        CHECK(kernel.code().private_bytes == 0);
        CHECK(kernel.code().workgroup_bytes == kernel.planned().memory.workgroup_bytes);
        CHECK(occupancy_of(kernel.code(), gfx).subgroups_per_simd >= 4);
      }
    }
  }
}

}  // namespace
}  // namespace millrace
