// SPDX-License-Identifier: Apache-2.0
// The mistakes at which the interpreter ends a run, with and without an observer.
#include <functional>

#include <doctest/doctest.h>

#include "millrace/jit/interpret.h"
#include "tests/support/kernels/machine_kernels.h"

namespace millrace {
namespace {

using Values = MachineBuilder::Values;

std::string error_of(const MachineKernel& kernel, const std::vector<void*>& buffers = {}) {
  return test::run_observed(kernel, plan_memory(kernel, TargetSpec{}).value(), buffers, {}, 1, {}).message();
}

std::string error_of(MachineBuilder& b) { return error_of(b.finish()); }

/// Only threads below `end` do it.
void below(MachineBuilder& b, std::int32_t end, const std::function<void()>& body) {
  const MachineValue thread = b.thread_id();
  b.if_else(
      b.lt(thread, b.i32(end)),
      [&] {
        body();
        return Values{};
      },
      [] { return Values{}; });
}

TEST_CASE("a barrier waits for all threads of the workgroup") {
  MachineBuilder b("halves");
  b.set_workgroup(64, 32);
  below(b, 48, [&] { b.barrier(); });
  CHECK(error_of(b) ==
        "kernel 'halves': line 9 (barrier): 16 of 64 threads missing, the first is thread 48; expected all of "
        "the workgroup here");
}

TEST_CASE("a barrier in a loop waits for threads with fewer iterations") {
  MachineBuilder b("iterations");
  b.set_workgroup(4, 1);
  const MachineValue one = b.i32(1);
  b.for_loop(b.i32(0), b.add(b.thread_id(), one), one, {}, [&](MachineValue, const Values&) {
    b.barrier();
    return Values{};
  });
  CHECK(error_of(b) ==
        "kernel 'iterations': line 10 (barrier): 1 of 4 threads missing, the first is thread 0; expected all of the "
        "workgroup here");
}

TEST_CASE("whole subgroups exchange lanes, and not all subgroups of a workgroup must") {
  const auto exchange_below = [](std::int32_t end, const std::function<void(MachineBuilder&)>& exchange) {
    MachineBuilder b("some");
    b.set_workgroup(96, 32);
    below(b, 64, [&] { exchange(b); });
    // The verifier takes whole subgroups only.
    MachineKernel kernel = b.finish();
    for (MachineInstruction& instruction : kernel.blocks[BlockId{0}].instructions) {
      const bool is_end = instruction.op == KernelOp::kConstant && instruction.immediate == 64;
      if (is_end) instruction.immediate = static_cast<std::uint64_t>(end);
    }
    return error_of(kernel);
  };
  const auto shuffle = [](MachineBuilder& b) { b.shuffle(b.thread_id(), b.thread_id()); };
  const auto shuffle_xor = [](MachineBuilder& b) { b.shuffle_xor(b.thread_id(), 1); };
  const auto ballot = [](MachineBuilder& b) { b.ballot(b.constant_int(DType::kBool, 1)); };
  CHECK(exchange_below(64, shuffle) == "");
  CHECK(exchange_below(32, ballot) == "");
  CHECK(exchange_below(33, shuffle) ==
        "kernel 'some': line 9 (%3 = shuffle %0, %0 : i32): 31 of 32 threads missing, the first is thread 33; "
        "expected all of the subgroup here");
  CHECK(exchange_below(1, shuffle_xor) ==
        "kernel 'some': line 9 (%3 = shuffle_xor %0, 1 : i32): 31 of 32 threads missing, the first is thread 1; "
        "expected all of the subgroup here");
  CHECK(exchange_below(95, ballot) ==
        "kernel 'some': line 10 (%4 = ballot %3 : u64): 1 of 32 threads missing, the first is thread 95; expected "
        "all of the subgroup here");
}

TEST_CASE("a thread that leaves a slot, or loops without progress, ends the run") {
  {
    MachineBuilder b("outside");
    b.set_workgroup(4, 1);
    const MemoryHandle keys = b.workgroup_memory(DType::kI32, 3, "keys");
    b.store(keys, b.thread_id(), b.thread_id());
    CHECK(error_of(b) ==
          "kernel 'outside': line 7 (store_vector #0[%0], %0): thread 3 leaves the slot, which has 3 elements");
  }
  {
    MachineBuilder b("outside");
    const MemoryHandle keys = b.workgroup_memory(DType::kI32, 3, "keys");
    const MachineValue before = b.i32(-1);
    b.atomic(KernelOp::kAtomicAdd, keys, before, before);
    CHECK(
        error_of(b) ==
        "kernel 'outside': line 6 (%1 = atomic_add #0[%0], %0 : i32): thread 0 leaves the slot, which has 3 elements");
  }
  {
    MachineBuilder b("still");
    b.set_workgroup(4, 1);
    const MachineValue thread = b.thread_id();
    const MachineValue two = b.i32(2);
    b.for_loop(thread, two, b.sub(two, thread), {}, [](MachineValue, const Values&) { return Values{}; });
    CHECK(error_of(b) ==
          "kernel 'still': line 8 (for %3 = %0 to %1 step %2): thread 2: a step of 0, expected more than 0");
  }
}

TEST_CASE("a streaming store at an unaligned offset ends the run") {
  MachineBuilder b("apart");
  const MemoryHandle y = b.buffer("y", DType::kI64, BufferAccess::kWrite);
  b.store_streaming(y, b.size(Dim("offset")), b.splat(b.i64(1), 4));
  const MachineKernel machine = b.finish();
  const MemoryPlan plan = plan_memory(machine, TargetSpec{}).value();
  std::vector<std::int64_t> results(12);
  void* buffers[] = {results.data()};
  std::uint32_t status = 0;
  for (const std::int64_t offset : {6, 4}) {
    const KernelArgs args{&status, nullptr, buffers, &offset};
    CHECK(interpret_kernel(machine, plan, args, 0, 1).message() ==
          (offset == 4 ? "" : "line 10 (store_streaming @0[%2], %1): offset 6, expected a multiple of 4"));
  }
  CHECK(results == std::vector<std::int64_t>{0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0});
}

TEST_CASE("a kernel runs again after a run that ended early") {
  MachineBuilder b("late");
  const MemoryHandle keys = b.workgroup_memory(DType::kI64, 2, "keys");
  b.store(keys, b.workgroup_id(), b.workgroup_id());
  const MachineKernel machine = b.finish();
  const auto kernel = make_interpreted_kernel(machine, plan_memory(machine, TargetSpec{}).value());
  alignas(64) std::int64_t workgroup_memory[2] = {7, 7};
  std::uint32_t status = 0;
  const KernelArgs args{&status, workgroup_memory, nullptr, nullptr};
  CHECK(kernel->run(args, 0, 3).message() ==
        "line 6 (store_vector #0[%0], %0): thread 0 leaves the slot, which has 2 elements");
  CHECK(kernel->run(args, 0, 2).ok());
  CHECK(workgroup_memory[1] == 1);
}

}  // namespace
}  // namespace millrace
