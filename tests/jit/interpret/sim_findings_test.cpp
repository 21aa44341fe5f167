// SPDX-License-Identifier: Apache-2.0
// Every kind of finding, through a simulated device: the whole message, as the submission's semaphore carries it.
#include <array>
#include <functional>

#include <doctest/doctest.h>

#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/machine_builder.h"
#include "tests/support/gpu/run_on_sim.h"

namespace millrace {
namespace {

using Values = MachineBuilder::Values;
using test::SimLaunch;

/// Two subgroups of threads, with x to read and y to write: 64 elements of i32 each.
struct Fixture {
  Fixture() { b.set_workgroup(64, 32); }

  test::SimRun run(SimLaunch launch = {}) {
    const std::array<BufferBinding, 2> buffers = {{{in.data(), sizeof(in)}, {out.data(), sizeof(out)}}};
    launch.buffers = buffers;
    return test::run_on_sim(b.finish(), launch);
  }
  std::string finding(const SimLaunch& launch = {}) { return run(launch).status.message(); }

  /// Only threads below `end` do it.
  void below(std::int32_t end, const std::function<void()>& body) {
    const auto then = [&] {
      body();
      return Values{};
    };
    const MachineValue thread = b.thread_id();
    b.if_else(b.lt(thread, b.i32(end)), then, [] { return Values{}; });
  }

  MachineBuilder b{"k"};
  MemoryHandle x = b.buffer("x", DType::kI32, BufferAccess::kRead),
               y = b.buffer("y", DType::kI32, BufferAccess::kWrite);
  alignas(64) std::array<std::int32_t, 64> in{}, out{};
};

TEST_CASE("a thread that leaves a buffer is found") {
  Fixture f;
  const MachineValue thread = f.b.thread_id(), next = f.b.add(thread, f.b.i32(1));
  f.b.store(f.y, next, f.b.load(f.x, thread));
  CHECK(f.finding() ==
        "kernel 'k': line 11 (store_vector @1[%2], %3): thread 63 of group 0 stores element 64 of @1 ('y'), which has "
        "64");
  CHECK(f.out == std::array<std::int32_t, 64>{});
}

TEST_CASE("a thread that leaves its slot of workgroup memory is found") {
  Fixture f;
  const MemoryHandle keys = f.b.workgroup_memory(DType::kI32, 63, "keys");
  f.b.store(keys, f.b.thread_id(), f.b.thread_id());
  CHECK(f.finding() ==
        "kernel 'k': line 9 (store_vector #0[%0], %0): thread 63 of group 0 stores element 63 of #0 ('keys'), which "
        "has 63");
}

TEST_CASE("a read of unwritten workgroup memory is found") {
  Fixture f;
  const MemoryHandle keys = f.b.workgroup_memory(DType::kI32, 64, "keys");
  f.below(32, [&] { f.b.store(keys, f.b.thread_id(), f.b.thread_id()); });
  f.b.barrier();
  f.b.store(f.y, f.b.thread_id(), f.b.load(keys, f.b.thread_id()));
  CHECK(f.finding() ==
        "kernel 'k': line 16 (%3 = load_vector #0[%0] : i32): thread 32 of group 0 loads element 32 of #0 ('keys'), "
        "byte 128 of workgroup memory, where nothing was stored");
}

TEST_CASE("a read of private memory that the thread did not write is found") {
  Fixture f;
  const MemoryHandle mine = f.b.private_memory(DType::kI32, 2, "mine");
  f.b.store(mine, f.b.i32(0), f.b.thread_id());
  f.b.store(f.y, f.b.thread_id(), f.b.load(mine, f.b.i32(1)));
  CHECK(f.finding() ==
        "kernel 'k': line 12 (%3 = load_vector #0[%2] : i32): thread 0 of group 0 loads element 1 of #0 ('mine'), byte "
        "4 of private memory, where nothing was stored");
}

TEST_CASE("threads of a workgroup that race for workgroup memory are found") {
  Fixture f;
  const MemoryHandle keys = f.b.workgroup_memory(DType::kI32, 64, "keys");
  f.b.store(keys, f.b.thread_id(), f.b.thread_id());
  f.b.store(f.y, f.b.thread_id(), f.b.load(keys, f.b.bit_xor(f.b.thread_id(), f.b.i32(1))));
  CHECK(f.finding() ==
        "kernel 'k': line 12 (%3 = load_vector #0[%2] : i32): thread 0 of group 0 loads element 1 of #0 ('keys'), byte "
        "4 of workgroup memory, which thread 1 of group 0 stored at line 10; a barrier must separate them");
}

TEST_CASE("workgroups that race for a buffer are found, in every order") {
  const auto finding = [](std::uint64_t order_seed) {
    Fixture f;
    f.b.store(f.y, f.b.thread_id(), f.b.thread_id());
    return f.finding({.num_groups = 2, .options = {.order_seed = order_seed}});
  };
  CHECK(finding(0) ==
        "kernel 'k': line 8 (store_vector @1[%0], %0): thread 0 of group 1 stores element 0 of @1 ('y'), byte 0 of the "
        "buffer, which thread 0 of group 0 stored at line 8; not even a barrier orders buffers within a dispatch");
  CHECK(finding(2) ==
        "kernel 'k': line 8 (store_vector @1[%0], %0): thread 0 of group 0 stores element 0 of @1 ('y'), byte 0 of the "
        "buffer, which thread 0 of group 1 stored at line 8; not even a barrier orders buffers within a dispatch");
}

TEST_CASE("a barrier that some threads do not reach is found") {
  Fixture f;
  f.below(48, [&] { f.b.barrier(); });
  CHECK(f.finding() ==
        "kernel 'k': line 11 (barrier): 16 of 64 threads missing, the first is thread 48; expected all of the "
        "workgroup here");
}

TEST_CASE("a subgroup's instruction that some of its threads do not reach is found before it runs") {
  Fixture f;
  f.below(32, [&] { f.b.store(f.y, f.b.thread_id(), f.b.shuffle_xor(f.b.thread_id(), 1)); });
  MachineKernel kernel = f.b.finish();
  for (MachineInstruction& instruction : kernel.blocks[BlockId{0}].instructions) {
    if (instruction.op == KernelOp::kConstant && instruction.immediate == 32) instruction.immediate = 33;
  }
  CHECK(test::run_on_sim(kernel, {}).status.message() ==
        "kernel 'k': %3 = shuffle_xor: some threads of a subgroup may not enter block 1, expected all or none; move "
        "it out, or broadcast the value that the branch depends on");
}

TEST_CASE("a kernel for subgroups of another size than the target's is found") {
  Fixture f;
  f.b.store(f.y, f.b.thread_id(), f.b.thread_id());
  CHECK(f.finding({.target = "sim:gfx90a"}) ==
        "kernel 'k': subgroups of 32 threads, expected 64 for sim:gfx90a; build the kernel for the target");
}

TEST_CASE("a kernel for one thread per workgroup, as for CPUs, is found") {
  CHECK(test::run_on_sim(MachineBuilder("k").finish(), {}).status.message() ==
        "kernel 'k': subgroups of 1 threads, expected 32 for sim:gfx1100; build the kernel for the target");
}

TEST_CASE("a kernel that exceeds its limit of instructions is stopped") {
  Fixture f;
  const MachineValue zero = f.b.i32(0), one = f.b.i32(1);
  f.b.for_loop(zero, f.b.i32(1 << 30), one, {}, [&](MachineValue i, const Values&) {
    f.b.add(i, i);
    return Values{};
  });
  const test::SimRun run = f.run({.options = {.max_lane_instructions = 10'000}});
  CHECK(run.status.code() == StatusCode::kResourceExhausted);
  CHECK(run.status.message() ==
        "kernel 'k': line 10 (for %3 = %0 to %2 step %1): more than 10000 lane instructions, the limit of this "
        "run");
}

TEST_CASE("a kernel that needs more memory or threads than the target has is not loaded") {
  const TargetSpec spec = TargetSpec::parse("sim:gfx1100").value();
  const auto generator = make_interpreter_generator();
  const ExecutableImage image =
      generator->emit(generator->plan(MachineBuilder("k").finish(), spec).value(), spec).value();
  const auto device = create_sim_device(spec).value();
  const auto refusal = [&](const std::function<void(KernelInfo&)>& change) {
    std::vector<ExecutableImage> images = {image};
    change(images[0].info);
    const auto executable = device->load(images);
    CHECK((executable.ok() || executable.status().code() == StatusCode::kResourceExhausted));
    return executable.status().message();
  };
  CHECK(refusal([](KernelInfo& info) {
          info.workgroup_size = 1024;
          info.workgroup_bytes = 65536;
          info.private_bytes = 1024;
        }) == "");
  CHECK(refusal([](KernelInfo& info) { info.workgroup_size = 1056; }) ==
        "kernel 'k': 1056 threads in a workgroup, expected at most 1024, the limit of sim:gfx1100; plan the kernel for "
        "the target");
  CHECK(refusal([](KernelInfo& info) { info.workgroup_bytes = 65600; }) ==
        "kernel 'k': 65600 bytes of workgroup memory, expected at most 65536, the limit of sim:gfx1100; plan the "
        "kernel for the target");
  CHECK(refusal([](KernelInfo& info) { info.private_bytes = 1088; }) ==
        "kernel 'k': 1088 bytes of private memory, expected at most 1024, the limit of sim:gfx1100; plan the kernel "
        "for the target");
}

TEST_CASE("a kernel that cannot be observed is not simulated") {
  struct Silent final : HostKernel {
    Status run(const KernelArgs&, std::uint32_t, std::uint32_t) const override { return {}; }
  };
  const auto device = create_sim_device(TargetSpec::parse("sim:gfx1100").value()).value();
  std::vector<ExecutableImage> images(1);
  images[0].format = ImageFormat::kInterpreted;
  images[0].target = "sim:gfx1100";
  images[0].info.name = "silent";
  images[0].kernel = std::make_shared<Silent>();
  CommandList list;
  DispatchCommand dispatch;
  dispatch.kernel = list.kernels.push_back(images[0].info);
  dispatch.num_groups = list.add_size(1);
  list.commands.emplace_back(dispatch);
  const auto recording = device->record(list, device->load(images).value()).value();
  const std::vector<std::int64_t> sizes = {1};
  CHECK(device->submit(*recording, {.sizes = sizes}).message() ==
        "kernel 'silent': the kernel cannot report its accesses to an observer; run it without one, or interpret it");
}

}  // namespace
}  // namespace millrace
