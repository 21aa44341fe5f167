// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "millrace/jit/map_kernel.h"
#include "tests/jit/map/nests.h"

namespace millrace {
namespace {

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

TEST_CASE("a map of unknown size is chunked into groups; whole tiles, then masked vectors") {
  CHECK(mapped_text(relu(Dim("n").at_least(1)), IsaLevel::kAvx2) == R"(kernel relu
groups floor_div(n + 65535, 65536)
symbol n: at_least(1)
buffer @0 x: f32 read
buffer @1 y: f32 write
size s0: n
body {
  %0 = workgroup_id : i64
  %1 = constant 65536 : i64
  %4 = size s0 : i64
  %7 = constant 32 : i64
  %12 = constant 0 : f32
  %13 = splat %12 : f32x8
  %15 = constant 8 : i64
  %20 = constant 16 : i64
  %25 = constant 24 : i64
  %32 = lane_iota : i32x8
  %2 = mul %0, %1 : i64
  %3 = add %2, %1 : i64
  %5 = min %3, %4 : i64
  %6 = sub %5, %2 : i64
  %8 = rem %6, %7 : i64
  %9 = sub %5, %8 : i64
  for %10 = %2 to %9 step %7 {
    %11 = load_vector @0[%10] : f32x8
    %14 = max %11, %13 : f32x8
    store_vector @1[%10], %14
    %16 = add %10, %15 : i64
    %17 = load_vector @0[%16] : f32x8
    %18 = max %17, %13 : f32x8
    %19 = add %10, %15 : i64
    store_vector @1[%19], %18
    %21 = add %10, %20 : i64
    %22 = load_vector @0[%21] : f32x8
    %23 = max %22, %13 : f32x8
    %24 = add %10, %20 : i64
    store_vector @1[%24], %23
    %26 = add %10, %25 : i64
    %27 = load_vector @0[%26] : f32x8
    %28 = max %27, %13 : f32x8
    %29 = add %10, %25 : i64
    store_vector @1[%29], %28
  }
  for %30 = %9 to %5 step %15 {
    %31 = sub %5, %30 : i64
    %33 = convert %31 : i32
    %34 = splat %33 : i32x8
    %35 = lt %32, %34 : boolx8
    %36 = load_masked @0[%30], %35, %13 : f32x8
    %37 = max %36, %13 : f32x8
    store_masked @1[%30], %35, %37
  }
}
)");
}

TEST_CASE("a fact leaves out the remainder") {
  CHECK(mapped_text(relu(Dim("n").at_least(32768).multiple_of(32768)), IsaLevel::kAvx2) == R"(kernel relu
groups floor_div(n + 32768, 65536)
symbol n: at_least(32768).multiple_of(32768)
buffer @0 x: f32 read
buffer @1 y: f32 write
size s0: n
body {
  %0 = workgroup_id : i64
  %1 = constant 65536 : i64
  %4 = size s0 : i64
  %6 = constant 32 : i64
  %9 = constant 0 : f32
  %10 = splat %9 : f32x8
  %12 = constant 8 : i64
  %17 = constant 16 : i64
  %22 = constant 24 : i64
  %2 = mul %0, %1 : i64
  %3 = add %2, %1 : i64
  %5 = min %3, %4 : i64
  for %7 = %2 to %5 step %6 {
    %8 = load_vector @0[%7] : f32x8
    %11 = max %8, %10 : f32x8
    store_vector @1[%7], %11
    %13 = add %7, %12 : i64
    %14 = load_vector @0[%13] : f32x8
    %15 = max %14, %10 : f32x8
    %16 = add %7, %12 : i64
    store_vector @1[%16], %15
    %18 = add %7, %17 : i64
    %19 = load_vector @0[%18] : f32x8
    %20 = max %19, %10 : f32x8
    %21 = add %7, %17 : i64
    store_vector @1[%21], %20
    %23 = add %7, %22 : i64
    %24 = load_vector @0[%23] : f32x8
    %25 = max %24, %10 : f32x8
    %26 = add %7, %22 : i64
    store_vector @1[%26], %25
  }
}
)");
}

TEST_CASE("a contraction keeps rows times vectors in registers and shares what they share") {
  CHECK(mapped_text(matmul_nest(2, 16, 5), IsaLevel::kAvx2) == R"(kernel matmul
groups 1
buffer @0 a: f32 read
buffer @1 b: f32 read
buffer @2 c: f32 write
body {
  %0 = constant 0 : f32
  %1 = splat %0 : f32x8
  %2 = constant 0 : i64
  %3 = constant 5 : i64
  %4 = constant 1 : i64
  %10 = constant 16 : i64
  %16 = constant 8 : i64
  %29 = constant 24 : i64
  %25, %26, %27, %28 = for %5 = %2 to %3 step %4 with %6 = %1, %7 = %1, %8 = %1, %9 = %1 : f32x8, f32x8, f32x8, f32x8 {
    %11 = mul %5, %10 : i64
    %12 = load_vector @0[%5] : f32
    %13 = splat %12 : f32x8
    %14 = load_vector @1[%11] : f32x8
    %15 = mul_add %13, %14, %6 : f32x8
    %17 = add %11, %16 : i64
    %18 = load_vector @1[%17] : f32x8
    %19 = mul_add %13, %18, %7 : f32x8
    %20 = add %5, %3 : i64
    %21 = load_vector @0[%20] : f32
    %22 = splat %21 : f32x8
    %23 = mul_add %22, %14, %8 : f32x8
    %24 = mul_add %22, %18, %9 : f32x8
    yield %15, %19, %23, %24
  }
  store_vector @2[%2], %25
  store_vector @2[%16], %26
  store_vector @2[%10], %27
  store_vector @2[%29], %28
}
)");
}

TEST_CASE("a sum along rows keeps one vector, and joins its lanes at the end") {
  const LoopKernel sum = test::row_reduction_nest(ReductionKind::kSum, 3, 75);
  CHECK(mapped_text(sum, IsaLevel::kAvx2) == R"(kernel sum
groups 1
buffer @0 x: f32 read
buffer @1 y: f32 write
body {
  %0 = constant 0 : i64
  %1 = constant 3 : i64
  %2 = constant 1 : i64
  %4 = constant 75 : i64
  %6 = constant 0 : f32
  %7 = splat %6 : f32x8
  %8 = constant 64 : i64
  %9 = constant 32 : i64
  %18 = constant 8 : i64
  %22 = constant 16 : i64
  %26 = constant 24 : i64
  %41 = lane_iota : i32x8
  for %3 = %0 to %1 step %2 {
    %5 = mul %3, %4 : i64
    %30, %31, %32, %33 = for %10 = %0 to %8 step %9 with %11 = %7, %12 = %7, %13 = %7, %14 = %7 : f32x8, f32x8, f32x8, f32x8 {
      %15 = add %5, %10 : i64
      %16 = load_vector @0[%15] : f32x8
      %17 = add %11, %16 : f32x8
      %19 = add %15, %18 : i64
      %20 = load_vector @0[%19] : f32x8
      %21 = add %12, %20 : f32x8
      %23 = add %15, %22 : i64
      %24 = load_vector @0[%23] : f32x8
      %25 = add %13, %24 : f32x8
      %27 = add %15, %26 : i64
      %28 = load_vector @0[%27] : f32x8
      %29 = add %14, %28 : f32x8
      yield %17, %21, %25, %29
    }
    %48, %49, %50, %51 = for %34 = %8 to %4 step %18 with %35 = %30, %36 = %31, %37 = %32, %38 = %33 : f32x8, f32x8, f32x8, f32x8 {
      %39 = sub %4, %34 : i64
      %40 = add %5, %34 : i64
      %42 = convert %39 : i32
      %43 = splat %42 : i32x8
      %44 = lt %41, %43 : boolx8
      %45 = load_masked @0[%40], %44, %7 : f32x8
      %46 = add %35, %45 : f32x8
      %47 = select %44, %46, %35 : f32x8
      yield %47, %36, %37, %38
    }
    %52 = add %48, %49 : f32x8
    %53 = add %52, %50 : f32x8
    %54 = add %53, %51 : f32x8
    %55 = reduce_add %54 : f32
    store_vector @1[%3], %55
  }
}
)");
}

TEST_CASE("tilings are chosen by what the accesses walk") {
  const TargetSpec avx512{"cpu", IsaLevel::kAvx512};
  const TargetSpec avx2{"cpu", IsaLevel::kAvx2};
  CHECK(to_text(choose_tiling(matmul_nest(512, 512, 512), avx512)) ==
        "tiling { d1 x 16 lanes x 3, rows d0 x 8, 512 points a group }");
  CHECK(to_text(choose_tiling(matmul_nest(512, 512, 512), avx2)) ==
        "tiling { d1 x 8 lanes x 2, rows d0 x 6, 512 points a group }");
  CHECK(to_text(choose_tiling(relu(1000000), avx2)) ==
        "tiling { d0 x 8 lanes x 4, rows d0 x 1, 65536 points a group }");
  CHECK(to_text(choose_tiling(test::transpose_nest(DType::kF32, 64, 64), avx2)) ==
        "tiling { d1 x 8 lanes x 4, rows d0 x 8, 65536 points a group, loads turned }");
}

}  // namespace
}  // namespace millrace
