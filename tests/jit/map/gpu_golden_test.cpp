// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "millrace/jit/map_kernel.h"
#include "millrace/jit/memory_plan.h"
#include "tests/jit/map/nests.h"

namespace millrace {
namespace {

std::string mapped_text(const LoopKernel& kernel) {
  const Result<MachineKernel> machine = map_kernel(kernel, {.family = "amdgpu", .gfx = "gfx1100"});
  REQUIRE(machine.status().message() == "");
  return to_text(*machine);
}

LoopKernel relu(const SizeExpr& n) {
  return test::unary_nest("relu", DType::kF32, DType::kF32, {n},
                          [](auto& b, auto x) { return b.max(x, b.constant_like(x, 0)); });
}

TEST_CASE("a map of unknown size is an element a thread, where there is one") {
  CHECK(mapped_text(relu(Dim("n").at_least(1))) == R"(kernel relu
groups floor_div(n + 255, 256)
workgroup 256 threads, subgroups of 32
symbol n: at_least(1)
buffer @0 x: f32 read
buffer @1 y: f32 write
size s0: n
body {
  %0 = thread_id : i32
  %2 = workgroup_id : i64
  %5 = constant 256 : i64
  %8 = size s0 : i64
  %11 = constant 0 : f32
  %1 = convert %0 : i64
  %3 = convert %2 : u32
  %4 = convert %3 : i64
  %6 = mul %4, %5 : i64
  %7 = add %6, %1 : i64
  %9 = lt %7, %8 : bool
  if %9 {
    %10 = load_vector @0[%7] : f32
    %12 = max %10, %11 : f32
    store_vector @1[%7], %12
  } else {
  }
}
)");
}

TEST_CASE("a map whose size is a multiple of vectors has vectors") {
  CHECK(mapped_text(relu(4096)) == R"(kernel relu
groups 4
workgroup 256 threads, subgroups of 32
buffer @0 x: f32 read
buffer @1 y: f32 write
body {
  %0 = thread_id : i32
  %2 = workgroup_id : i64
  %5 = constant 1024 : i64
  %7 = constant 4 : i64
  %11 = constant 0 : f32
  %12 = splat %11 : f32x4
  %1 = convert %0 : i64
  %3 = convert %2 : u32
  %4 = convert %3 : i64
  %6 = mul %4, %5 : i64
  %8 = mul %1, %7 : i64
  %9 = add %6, %8 : i64
  %10 = load_vector @0[%9] : f32x4
  %13 = max %10, %12 : f32x4
  store_vector @1[%9], %13
}
)");
}

TEST_CASE("the threads of a workgroup share a long row, and join their sums") {
  CHECK(mapped_text(test::row_reduction_nest(ReductionKind::kSum, 3, 5000)) == R"(kernel sum
groups 3
workgroup 256 threads, subgroups of 32
buffer @0 x: f32 read
buffer @1 y: f32 write
slot #0 parts: workgroup f32[256]
body {
  %0 = thread_id : i32
  %2 = workgroup_id : i64
  %5 = constant 5000 : i64
  %7 = constant 0 : f32
  %8 = constant 256 : i64
  %25 = constant -225 : i32
  %28 = constant 32 : i32
  %32 = constant 64 : i32
  %36 = constant 96 : i32
  %40 = constant 128 : i32
  %44 = constant 160 : i32
  %48 = constant 192 : i32
  %52 = constant 224 : i32
  %56 = constant 0 : i64
  %1 = convert %0 : i64
  %3 = convert %2 : u32
  %4 = convert %3 : i64
  %6 = mul %4, %5 : i64
  %14 = for %9 = %1 to %5 step %8 with %10 = %7 : f32 {
    %11 = add %6, %9 : i64
    %12 = load_vector @0[%11] : f32
    %13 = add %10, %12 : f32
    yield %13
  }
  %15 = shuffle_xor %14, 1 : f32
  %16 = add %14, %15 : f32
  %17 = shuffle_xor %16, 2 : f32
  %18 = add %16, %17 : f32
  %19 = shuffle_xor %18, 4 : f32
  %20 = add %18, %19 : f32
  %21 = shuffle_xor %20, 8 : f32
  %22 = add %20, %21 : f32
  %23 = shuffle_xor %22, 16 : f32
  %24 = add %22, %23 : f32
  store_vector #0[%0], %24
  barrier
  %26 = and %0, %25 : i32
  %27 = load_vector #0[%26] : f32
  %29 = add %26, %28 : i32
  %30 = load_vector #0[%29] : f32
  %31 = add %27, %30 : f32
  %33 = add %26, %32 : i32
  %34 = load_vector #0[%33] : f32
  %35 = add %31, %34 : f32
  %37 = add %26, %36 : i32
  %38 = load_vector #0[%37] : f32
  %39 = add %35, %38 : f32
  %41 = add %26, %40 : i32
  %42 = load_vector #0[%41] : f32
  %43 = add %39, %42 : f32
  %45 = add %26, %44 : i32
  %46 = load_vector #0[%45] : f32
  %47 = add %43, %46 : f32
  %49 = add %26, %48 : i32
  %50 = load_vector #0[%49] : f32
  %51 = add %47, %50 : f32
  %53 = add %26, %52 : i32
  %54 = load_vector #0[%53] : f32
  %55 = add %51, %54 : f32
  %57 = eq %1, %56 : bool
  if %57 {
    store_vector @1[%4], %55
  } else {
  }
}
)");
}

TEST_CASE("a contraction loads blocks that all threads of a workgroup multiply") {
  CHECK(mapped_text(test::matmul_nest(64, 64, 40)) == R"(kernel matmul
groups 16
workgroup 256 threads, subgroups of 32
buffer @0 a: f32 read
buffer @1 b: f32 read
buffer @2 c: f32 write
slot #0 a: workgroup f32[316]
slot #1 b: workgroup f32[316]
body {
  %0 = thread_id : i32
  %1 = constant 15 : i32
  %4 = constant 4 : i32
  %7 = workgroup_id : i64
  %9 = constant 4 : i64
  %14 = constant 16 : i64
  %20 = constant 40 : i64
  %22 = constant 64 : i64
  %36 = constant 0 : f32
  %37 = constant 0 : i64
  %49 = constant 20 : i64
  %59 = constant 1 : i64
  %2 = and %0, %1 : i32
  %3 = convert %2 : i64
  %5 = shr %0, %4 : i32
  %6 = convert %5 : i64
  %8 = convert %7 : u32
  %10 = convert %9 : u32
  %11 = rem %8, %10 : u32
  %12 = convert %11 : i64
  %13 = div %8, %10 : u32
  %15 = mul %12, %14 : i64
  %16 = convert %13 : i64
  %17 = mul %16, %14 : i64
  %18 = add %15, %3 : i64
  %19 = add %17, %6 : i64
  %21 = mul %19, %20 : i64
  %23 = mul %19, %22 : i64
  %24 = add %18, %23 : i64
  %25 = mul %17, %20 : i64
  %26 = mul %17, %22 : i64
  %27 = add %15, %26 : i64
  %28 = and %0, %1 : i32
  %29 = shr %0, %4 : i32
  %30 = convert %29 : i64
  %31 = convert %28 : i64
  %32 = and %0, %1 : i32
  %33 = shr %0, %4 : i32
  %34 = convert %32 : i64
  %35 = convert %33 : i64
  %71 = for %38 = %37 to %20 step %14 with %39 = %36 : f32 {
    %40 = add %25, %38 : i64
    %41 = mul %38, %22 : i64
    %42 = add %15, %41 : i64
    barrier
    %43 = sub %20, %38 : i64
    %44 = mul %30, %20 : i64
    %45 = add %40, %44 : i64
    %46 = add %45, %31 : i64
    %47 = lt %31, %43 : bool
    %48 = load_masked @0[%46], %47, %36 : f32
    %50 = mul %31, %49 : i64
    %51 = add %30, %50 : i64
    %52 = add %42, %34 : i64
    %53 = mul %35, %22 : i64
    %54 = add %52, %53 : i64
    %55 = lt %35, %43 : bool
    %56 = load_masked @1[%54], %55, %36 : f32
    %57 = mul %35, %49 : i64
    %58 = add %34, %57 : i64
    store_vector #0[%51], %48
    store_vector #1[%58], %56
    barrier
    %60 = min %43, %14 : i64
    %70 = for %61 = %37 to %60 step %59 with %62 = %39 : f32 {
      %63 = mul %61, %49 : i64
      %64 = add %6, %63 : i64
      %65 = mul %61, %49 : i64
      %66 = add %3, %65 : i64
      %67 = load_vector #0[%64] : f32
      %68 = load_vector #1[%66] : f32
      %69 = mul_add %67, %68, %62 : f32
      yield %69
    }
    yield %70
  }
  store_vector @2[%24], %71
}
)");
}

TEST_CASE("the plan of a contraction tells the padding of its blocks, and has none for what the epilogue adds") {
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
