// SPDX-License-Identifier: Apache-2.0
// Workgroup kernels as machine code of one thread, against the interpreter that runs them unchanged.
#include "tests/support/gpu/split_barriers.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/jit/map_kernel.h"
#include "tests/jit/llvm/emit_support.h"
#include "tests/jit/map/nests.h"
#include "tests/support/golden.h"
#include "tests/support/gpu/gpu_kernels.h"
#include "tests/support/gpu/workgroup_kernels.h"
#include "tests/support/random/random_machine_kernel.h"
#include "tests/support/sliced.h"

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

/// Empty if the split kernel gives the interpreter's results.
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

bool has_vectors(const MachineKernel& kernel) {
  return std::ranges::any_of(kernel.types, [](const VectorType& type) { return type.lanes > 1; });
}

TEST_CASE("nests that are mapped to workgroups give the interpreter's results when split") {
  const IsaLevel isa = host_isa_levels().back();
  if (!TargetSpec{.isa = isa}.has_fma()) return;  // mul_add would round twice
  const auto square = [](BodyBuilder& b, BodyValue x) { return b.mul(x, x); };
  const std::pair<LoopKernel, bool> nests[] = {
      {test::row_reduction_nest(ReductionKind::kSum, 5, 100), false},
      {test::row_reduction_nest(ReductionKind::kSum, 3, 1500), false},
      {test::matmul_nest(20, 33, 40), false},
      {test::matmul_nest(32, 64, 40), false},
      {test::unary_nest("square", DType::kF32, DType::kF32, {4, 1000}, square), true},
  };
  for (const char* gfx : {"gfx1100", "gfx90a"}) {
    for (const auto& [nest, is_wide] : nests) {
      CAPTURE(gfx);
      CAPTURE(nest.name);
      MachineKernel kernel = map_kernel(nest, {.family = "amdgpu", .gfx = gfx}).value();
      CHECK(has_vectors(kernel) == is_wide);
      const auto groups = static_cast<std::uint32_t>(kernel.num_groups.constant());
      CHECK(difference(with_buffers(std::move(kernel), 4500, 0, groups), isa) == "");
    }
  }
}

TEST_CASE("workgroup kernels give the interpreter's results as machine code of one thread" * test::Sliced()) {
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

TEST_CASE("threads that diverge at random give the interpreter's results as machine code of one thread" *
          test::Sliced()) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    CAPTURE(seed);
    const bool is_wide = seed % 2 == 1;
    RandomMachineKernel threads = test::as_threads(test::make_random_kernel(seed, {.num_statements = is_wide ? 15 : 40,
                                                                                   .has_float_mul_add = false,
                                                                                   .has_thread_ops = false,
                                                                                   .max_lanes = is_wide ? 4u : 1u,
                                                                                   .num_groups = 64}));
    threads.kernel.subgroup_size = 32;
    CHECK(has_vectors(threads.kernel) == is_wide);
    CHECK(difference(threads, host_isa_levels().back()) == "");
  }
}

TEST_CASE("a kernel of one thread is returned unchanged, and one that does not verify is refused") {
  const MachineKernel one = test::make_random_kernel(3).kernel;
  CHECK(split_barriers(one).value() == one);
  MachineKernel uneven = test::row_sum_kernel(DType::kF32, 32);
  uneven.workgroup_size = 48;
  CHECK(split_barriers(uneven).status().message() ==
        "kernel 'row_sum': workgroups of 48 threads, expected a multiple of the subgroups' 32");
}

TEST_CASE("values of a thread that live across a barrier are in memory") {
  MachineBuilder b("reverse");
  b.set_workgroup(64, 32);
  const MemoryHandle x = b.buffer("x", DType::kI32, BufferAccess::kRead);
  const MemoryHandle y = b.buffer("y", DType::kI32, BufferAccess::kWrite);
  const MemoryHandle shared = b.workgroup_memory(DType::kI32, 64, "shared");
  const MachineValue thread = b.thread_id(), mine = b.load(x, thread);
  b.store(shared, thread, mine);
  b.barrier();
  b.store(y, thread, b.sub(mine, b.load(shared, b.bit_xor(thread, b.i32(63)))));
  CHECK(test::golden_problem("split_scalars.txt", to_text(split_barriers(b.finish()).value())) == "");
}

TEST_CASE("each element of a thread's vector becomes one vector of its subgroup") {
  MachineBuilder b("pairs");
  b.set_workgroup(64, 32);
  const MemoryHandle x = b.buffer("x", DType::kI32, BufferAccess::kRead);
  const MemoryHandle y = b.buffer("y", DType::kI32, BufferAccess::kWrite);
  const MachineValue thread = b.thread_id(), two = b.i32(2);
  const MachineValue place = b.mul(thread, two);
  const MachineValue pair = b.load(x, place, 2);
  b.barrier();
  b.store(y, place, b.reduce(KernelOp::kReduceMax, pair));
  CHECK(test::golden_problem("split_vectors.txt", to_text(split_barriers(b.finish()).value())) == "");
}

}  // namespace
}  // namespace millrace
