// SPDX-License-Identifier: Apache-2.0
// Nests as AMD GPU code objects: every kind of nest is what was planned, on every target and dtype.
#include <doctest/doctest.h>

#include "millrace/jit/map_kernel.h"
#include "millrace/jit/occupancy.h"
#include "tests/jit/llvm/gpu_support.h"
#include "tests/jit/map/nest_builder.h"

namespace millrace {
namespace {

using test::NestBuilder;
using test::unary_nest;

DType sum_dtype(DType dtype) { return size_bytes(dtype) == 2 ? DType::kF32 : dtype; }

LoopKernel scale(DType dtype, const SizeExpr& n) {
  return unary_nest("scale", dtype, dtype, {n}, [](auto& b, auto x) { return b.mul(x, b.constant_like(x, 3)); });
}

LoopKernel transpose(DType dtype, const SizeExpr& m, const SizeExpr& n) {
  NestBuilder nest("transpose");
  nest.parallel("m", m).parallel("n", n);
  nest.operand("x", dtype, {n, m}, {nest.dim(1), nest.dim(0)});
  nest.result("y", dtype, {m, n}, {nest.dim(0), nest.dim(1)});
  nest.epilogue([&](BodyBuilder& b) { b.yield(b.load(0, body_dtype(dtype))); });
  return nest.kernel();
}

LoopKernel reduce_rows(DType dtype, ReductionKind kind, const SizeExpr& m, const SizeExpr& k) {
  const DType sum = sum_dtype(dtype), result = kind == ReductionKind::kArgMax ? DType::kI64 : sum;
  NestBuilder nest("reduce_rows");
  nest.parallel("m", m).reduction("k", k);
  nest.operand("x", dtype, {m, k}, {nest.dim(0), nest.dim(1)});
  nest.result("y", result, {m}, {nest.dim(0)});
  nest.reduce(kind, sum);
  nest.term([&](BodyBuilder& b) { b.yield(b.load(0, body_dtype(dtype))); });
  nest.epilogue([&](BodyBuilder& b) { b.yield(b.reduced(0, result)); });
  return nest.kernel();
}

LoopKernel product(DType dtype, const SizeExpr& m, const SizeExpr& n, const SizeExpr& k) {
  const DType sum = sum_dtype(dtype);
  NestBuilder nest("product");
  nest.parallel("m", m).parallel("n", n).reduction("k", k);
  nest.operand("a", dtype, {m, k}, {nest.dim(0), nest.dim(2)});
  nest.operand("b", dtype, {k, n}, {nest.dim(2), nest.dim(1)});
  nest.result("c", dtype, {m, n}, {nest.dim(0), nest.dim(1)});
  nest.reduce(ReductionKind::kSum, sum);
  nest.term([&](BodyBuilder& b) {
    const BodyValue x = b.load(0, body_dtype(dtype));
    const BodyValue y = b.load(1, body_dtype(dtype));
    b.yield(b.mul(x, y));
  });
  nest.epilogue([&](BodyBuilder& b) { b.yield(b.reduced(0, sum)); });
  return nest.kernel();
}

/// A window of 3 along rows, with zeros around them.
LoopKernel window(DType dtype, const SizeExpr& m, const SizeExpr& n) {
  const DType sum = sum_dtype(dtype);
  NestBuilder nest("window");
  nest.parallel("m", m).parallel("n", n).reduction("k", 3);
  nest.operand("x", dtype, {m, n}, {nest.dim(0), nest.index({{1, 1}, {2, 1}}, -1)},
               Scalar::from_int(body_dtype(dtype), 0));
  nest.result("y", dtype, {m, n}, {nest.dim(0), nest.dim(1)});
  nest.reduce(ReductionKind::kMax, sum);
  nest.term([&](BodyBuilder& b) { b.yield(b.load(0, body_dtype(dtype))); });
  nest.epilogue([&](BodyBuilder& b) { b.yield(b.reduced(0, sum)); });
  return nest.kernel();
}

/// Rows of a table by indices, which may be negative, or bad.
LoopKernel gather(DType dtype, const SizeExpr& rows, const SizeExpr& count, const SizeExpr& columns) {
  NestBuilder nest("gather");
  nest.parallel("i", count).parallel("c", columns);
  nest.operand("table", dtype, {rows, columns}, {nest.index({}), nest.dim(1)});
  nest.operand("ids", DType::kI64, {count}, {nest.dim(0)});
  nest.kernel().loads[0].dynamic_dim = 0;
  nest.kernel().extents = {rows};
  nest.result("y", dtype, {count, columns}, {nest.dim(0), nest.dim(1)});
  nest.epilogue([&](BodyBuilder& b) {
    const BodyValue id = b.load(1, DType::kI64);
    b.yield(b.load(0, body_dtype(dtype), b.check_index(id, b.extent(0))));
  });
  return nest.kernel();
}

std::vector<LoopKernel> all_nests(DType dtype) {
  const Dim m = Dim("m").at_least(1), n = Dim("n").at_least(1);
  return {scale(dtype, 4096),
          scale(dtype, n),
          transpose(dtype, m, n),
          reduce_rows(dtype, ReductionKind::kSum, m, 4096),
          reduce_rows(dtype, ReductionKind::kMax, m, 100),
          reduce_rows(dtype, ReductionKind::kArgMax, m, n),
          product(dtype, 512, 512, 512),
          product(dtype, 4096, 4096, 4096),
          product(dtype, m, 100, n),
          window(dtype, m, n),
          gather(dtype, m, n, 64)};
}

TEST_CASE("every kind of nest is, on every GPU target and dtype, an object as planned") {
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
