// SPDX-License-Identifier: Apache-2.0
// The counts that a simulated device keeps for a dispatch.
#include <array>

#include <doctest/doctest.h>

#include "millrace/jit/machine_builder.h"
#include "tests/support/golden.h"
#include "tests/support/gpu/run_on_sim.h"
#include "tests/support/gpu/workgroup_kernels.h"

namespace millrace {
namespace {

using Values = MachineBuilder::Values;

TEST_CASE("counts are printed one per line, and add up") {
  SimCounts sum{.num_groups = 1, .lane_instructions = 2, .barriers = 3};
  sum += {.num_groups = 10, .buffer_bytes_read = 20, .buffer_bytes_written = 30, .workgroup_bytes_read = 40};
  sum += {.workgroup_bytes_written = 50, .bank_conflicts = 60, .barriers = 70};
  CHECK(test::golden_problem("sim_counts.txt", to_text(sum)) == "");
}

TEST_CASE("lane instructions are counted per active thread and lane, without constants") {
  std::array<float, 256> x{}, y{};
  const std::array<BufferBinding, 2> buffers = {{{x.data(), sizeof(x)}, {y.data(), sizeof(y)}}};
  MachineBuilder b("k");
  b.set_workgroup(32, 32);
  const MemoryHandle from = b.buffer("x", DType::kF32, BufferAccess::kRead),
                     to = b.buffer("y", DType::kF32, BufferAccess::kWrite);
  const MachineValue thread = b.thread_id();                         // 32
  const MachineValue i = b.add(b.convert(DType::kI64, thread),       // 32 and 32
                               b.mul(b.workgroup_id(), b.i64(32)));  // 32 and 32
  const MachineValue four = b.mul(i, b.i64(4));                      // 32
  const MachineValue loaded = b.load(from, four, 4);                 // 128
  const auto store = [&] {                                           // 10 times
    b.store(to, four, b.add(loaded, loaded));                        // 4 and 4
    return Values{};
  };
  b.if_else(b.lt(thread, b.i32(10)), store, [] { return Values{}; });  // 32 and 32
  const test::SimRun run = test::run_on_sim(b.finish(), {.buffers = buffers, .num_groups = 2});
  REQUIRE(run.status.message() == "");
  CHECK(run.counts.num_groups == 2);
  CHECK(run.counts.lane_instructions == 2 * (8 * 32 + 128 + 10 * 8));
  CHECK(run.counts.buffer_bytes_read == 2 * 32 * 16);
  CHECK(run.counts.buffer_bytes_written == 2 * 10 * 16);
}

TEST_CASE("a loop counts its body once per iteration of a thread") {
  MachineBuilder b("k");
  b.set_workgroup(32, 32);
  const MachineValue thread = b.thread_id();                                           // 32
  b.for_loop(b.i32(0), thread, b.i32(1), {}, [&](MachineValue index, const Values&) {  // 32
    b.add(index, index);                                                               // 0 + 1 + ... + 31
    return Values{};
  });
  CHECK(test::run_on_sim(b.finish(), {}).counts.lane_instructions == 64 + 31 * 16);
}

/// The bank conflicts of 64 threads, where thread t touches element t * stride of workgroup memory.
std::uint64_t conflicts_of_stores(DType dtype, std::int32_t stride, const std::string& target = "sim:gfx1100") {
  MachineBuilder b("k");
  b.set_workgroup(64, TargetSpec::parse(target)->subgroup_size());
  const MemoryHandle keys = b.workgroup_memory(dtype, 64 * 33, "keys");
  b.store(keys, b.mul(b.thread_id(), b.i32(stride)), b.constant_int(dtype, 1));
  const test::SimRun run = test::run_on_sim(b.finish(), {.target = target});
  REQUIRE(run.status.message() == "");
  CHECK(run.counts.workgroup_bytes_written == 64 * size_bytes(dtype));
  return run.counts.bank_conflicts;
}

TEST_CASE("a bank conflict is a cycle beyond those of an even spread over the banks") {
  CHECK(conflicts_of_stores(DType::kI32, 1) == 0);
  CHECK(conflicts_of_stores(DType::kI32, 2) == 2 * 1);
  CHECK(conflicts_of_stores(DType::kI32, 8) == 2 * 7);
  CHECK(conflicts_of_stores(DType::kI32, 32) == 2 * 31);
  CHECK(conflicts_of_stores(DType::kI32, 33) == 0);
  CHECK(conflicts_of_stores(DType::kI8, 1) == 0);
  CHECK(conflicts_of_stores(DType::kI64, 1) == 0);
  CHECK(conflicts_of_stores(DType::kI64, 2) == 2 * 2);
  CHECK(conflicts_of_stores(DType::kI32, 1, "sim:gfx90a") == 0);
  CHECK(conflicts_of_stores(DType::kI32, 2, "sim:gfx90a") == 2);
}

TEST_CASE("threads share a loaded word, and execute atomics one after another") {
  MachineBuilder b("k");
  b.set_workgroup(64, 32);
  const MemoryHandle keys = b.workgroup_memory(DType::kI32, 64, "keys");
  const MachineValue zero = b.i32(0);
  b.store(keys, b.thread_id(), zero);
  b.barrier();
  b.load(keys, zero);
  b.barrier();
  b.atomic(KernelOp::kAtomicAdd, keys, zero, b.i32(1));
  const test::SimRun run = test::run_on_sim(b.finish(), {.num_groups = 3});
  REQUIRE(run.status.message() == "");
  CHECK(run.counts.bank_conflicts == 3 * 2 * 31);
  CHECK(run.counts.barriers == 3 * 2);
  CHECK(run.counts.workgroup_bytes_read == 3 * 2 * 256);
  CHECK(run.counts.workgroup_bytes_written == 3 * 2 * 256);
}

TEST_CASE("a tree of sums reads its input once, and its workgroup memory once per level") {
  const test::WorkgroupShape shape{128, 32};
  std::array<std::int32_t, 256> x{};
  std::array<std::int32_t, 2> sums{};
  const std::array<BufferBinding, 2> buffers = {{{x.data(), sizeof(x)}, {sums.data(), sizeof(sums)}}};
  const test::SimRun run =
      test::run_on_sim(test::reduction_kernel(shape), {.buffers = buffers, .sizes = {256}, .num_groups = 2});
  REQUIRE(run.status.message() == "");
  CHECK(run.counts.buffer_bytes_read == sizeof(x));
  CHECK(run.counts.buffer_bytes_written == sizeof(sums));
  CHECK(run.counts.workgroup_bytes_read == 2 * 4 * (2 * 127 + 1));
  CHECK(run.counts.workgroup_bytes_written == 2 * 4 * (128 + 127));
  CHECK(run.counts.barriers == 2 * 7);
  CHECK(run.counts.bank_conflicts == 0);
}

}  // namespace
}  // namespace millrace
