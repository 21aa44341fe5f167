// SPDX-License-Identifier: Apache-2.0
// Workgroup kernels as machine code of one thread, beside the interpreter that runs them as they are.
#include "millrace/jit/split_barriers.h"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/jit/map_kernel.h"
#include "tests/jit/llvm/emit_support.h"
#include "tests/jit/nest_builder.h"
#include "tests/support/gpu_kernels.h"
#include "tests/support/random_machine_kernel.h"
#include "tests/support/workgroup_kernels.h"

namespace millrace {
namespace {

using test::KernelData;
using test::RandomMachineKernel;

/// What machine code of the split kernel leaves, and the status word.
std::uint32_t run_split(const RandomMachineKernel& problem, IsaLevel isa, KernelData& data) {
  const MachineKernel split = split_barriers(problem.kernel).value();
  const MemoryPlan plan = plan_memory(split, TargetSpec{.isa = isa}).value();
  const EmittedKernel emitted(split, isa, plan);
  std::vector<std::byte> workgroup_memory(plan.workgroup_bytes + 64);
  void* aligned = workgroup_memory.data();
  std::size_t room = workgroup_memory.size();
  std::align(64, plan.workgroup_bytes, aligned, room);
  return emitted.run(test::pointers_to(data), problem.sizes, problem.num_groups, aligned);
}

/// Empty when the split kernel leaves what the interpreter leaves.
std::string difference(const RandomMachineKernel& problem, IsaLevel isa) {
  const KernelData data = test::make_random_data(problem, 1);
  KernelData expected = data, found = data;
  const std::uint32_t expected_status = test::run_interpreted(problem, expected);
  const std::uint32_t status = run_split(problem, isa, found);
  if (status != expected_status) {
    return "status " + std::to_string(status) + ", expected " + std::to_string(expected_status);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const BufferArgument& buffer = problem.kernel.buffers[i];
    const std::string first =
        first_difference(buffer.dtype, found[i].data(), expected[i].data(), problem.num_elements[i]);
    if (!first.empty()) return "buffer " + buffer.name + ": " + first;
  }
  return {};
}

/// All buffers of `num_elements`, and all sizes that.
RandomMachineKernel with_buffers(MachineKernel kernel, std::size_t num_elements, std::int64_t size,
                                 std::uint32_t groups) {
  RandomMachineKernel problem;
  problem.kernel = std::move(kernel);
  problem.num_groups = groups;
  problem.num_elements.assign(problem.kernel.buffers.size(), num_elements);
  problem.sizes.assign(problem.kernel.sizes.size(), size);
  return problem;
}

LoopKernel row_sum_nest(std::int64_t rows, std::int64_t columns) {
  test::NestBuilder nest("row_sum");
  nest.parallel("m", rows).reduction("k", columns);
  nest.operand("x", DType::kF32, {rows, columns}, {nest.dim(0), nest.dim(1)});
  nest.result("y", DType::kF32, {rows}, {nest.dim(0)});
  nest.reduce(ReductionKind::kSum, DType::kF32);
  nest.term([](BodyBuilder& b) { b.yield(b.load(0, DType::kF32)); });
  nest.epilogue([](BodyBuilder& b) { b.yield(b.reduced(0, DType::kF32)); });
  return nest.kernel();
}

TEST_CASE("nests that are mapped to workgroups do so, too") {
  const IsaLevel isa = host_isa_levels().back();
  if (!TargetSpec{.isa = isa}.has_fma()) return;  // mul_add would round twice
  for (const char* gfx : {"gfx1100", "gfx90a"}) {
    CAPTURE(gfx);
    for (const LoopKernel& nest : {row_sum_nest(5, 100), row_sum_nest(3, 1500), test::matmul_nest(20, 33, 40)}) {
      MachineKernel kernel = map_kernel(nest, {.family = "amdgpu", .gfx = gfx}).value();
      const auto groups = static_cast<std::uint32_t>(kernel.num_groups.constant());
      CHECK(difference(with_buffers(std::move(kernel), 4500, 0, groups), isa) == "");
    }
  }
}

TEST_CASE("workgroup kernels do as machine code of one thread what the interpreter does") {
  const IsaLevel isa = host_isa_levels().back();
  for (const std::uint32_t subgroup : {32u, 64u}) {
    for (const test::GpuTestKernel& kernel : test::gpu_test_kernels()) {
      for (const DType dtype : kernel.dtypes) {
        if (is_float(dtype) && !TargetSpec{.isa = isa}.has_fma()) continue;  // mul_add would round twice
        CAPTURE(kernel.name);
        CAPTURE(subgroup);
        CAPTURE(dtype);
        CHECK(difference(with_buffers(kernel.build(dtype, subgroup), 4096, 2, 2), isa) == "");
        CHECK(difference(with_buffers(kernel.build(dtype, subgroup), 4096, 700, 3), isa) == "");
      }
    }
    const test::WorkgroupShape shape{.num_threads = 256, .subgroup_size = subgroup};
    CHECK(difference(with_buffers(test::reduction_kernel(shape), 1024, 700, 3), isa) == "");
    CHECK(difference(with_buffers(test::prefix_sum_kernel(shape), 1024, 700, 3), isa) == "");
    CHECK(difference(with_buffers(test::bitonic_sort_kernel(shape, 512), 1024, 0, 2), isa) == "");
  }
}

TEST_CASE("threads that diverge at random do as machine code of one thread what the interpreter does") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    RandomMachineKernel threads = test::as_threads(test::make_random_kernel(
        seed, {.has_float_mul_add = false, .has_thread_ops = false, .has_vectors = false, .num_groups = 64}));
    threads.kernel.subgroup_size = 32;
    CHECK(difference(threads, host_isa_levels().back()) == "");
  }
}

TEST_CASE("a kernel of one thread comes back as it is, and one of vectors is refused") {
  const MachineKernel one = test::make_random_kernel(3).kernel;
  CHECK(split_barriers(one).value() == one);
  MachineBuilder b("wide");
  b.set_workgroup(64, 32);
  b.splat(b.thread_id(), 4);
  CHECK(split_barriers(b.finish()).status().message() ==
        "split_barriers: kernel 'wide' has values of i32x4, expected scalars: a thread becomes a lane");
}

TEST_CASE("what a thread keeps across a barrier stands in memory") {
  MachineBuilder b("turn");
  b.set_workgroup(64, 32);
  const MemoryHandle x = b.buffer("x", DType::kI32, true, false);
  const MemoryHandle y = b.buffer("y", DType::kI32, false, true);
  const MemoryHandle shared = b.workgroup_memory(DType::kI32, 64, "shared");
  const MachineValue thread = b.thread_id(), mine = b.load(x, thread);
  b.store(shared, thread, mine);
  b.barrier();
  b.store(y, thread, b.sub(mine, b.load(shared, b.bit_xor(thread, b.i32(63)))));
  CHECK(to_text(split_barriers(b.finish()).value()) ==
        R"(kernel turn
groups 1
buffer @0 x: i32 read
buffer @1 y: i32 write
slot #0 shared: workgroup i32[64]
slot #1 kept: workgroup i32[64]
slot #2 kept: workgroup i32[64]
body {
  %0 = constant 64 : i32
  %1 = constant 32 : i32
  %2 = constant 0 : i32
  %4 = lane_iota : i32x32
  %7 = constant 63 : i32
  %8 = constant true : bool
  %9 = splat %8 : boolx32
  %10 = splat %2 : i32x32
  %15 = splat %7 : i32x32
  for %3 = %2 to %0 step %1 {
    %5 = splat %3 : i32x32
    %6 = add %5, %4 : i32x32
    %11 = gather @0[%6], %9, %10 : i32x32
    scatter #0[%6], %9, %11
    store_vector #1[%3], %6
    store_vector #2[%3], %11
  }
  for %12 = %2 to %0 step %1 {
    %13 = load_vector #1[%12] : i32x32
    %14 = load_vector #2[%12] : i32x32
    %16 = xor %13, %15 : i32x32
    %17 = gather #0[%16], %9, %10 : i32x32
    %18 = sub %14, %17 : i32x32
    scatter @1[%13], %9, %18
  }
}
)");
}

}  // namespace
}  // namespace millrace
