// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "millrace/hal/hip_device.h"
#include "millrace/jit/code_object.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/machine_builder.h"
#include "tests/hip_standin/control.h"

// The cost of our own code when a command list is submitted to a HIP device. The HIP runtime is the stand-in of the
// tests; its time is subtracted. The cost of launches, copies and events in AMD's runtime is not measured.

namespace millrace {
namespace {

constexpr std::size_t kNumBuffers = 3;
constexpr std::size_t kNumSizes = 4;

/// z[0] = x[0] + y[0] + the sum of the sizes, in a code object.
ExecutableImage make_image(const TargetSpec& target) {
  MachineBuilder b("sum");
  b.set_workgroup(target.subgroup_size(), target.subgroup_size());
  const MemoryHandle x = b.buffer("x", DType::kI64, BufferAccess::kRead),
                     y = b.buffer("y", DType::kI64, BufferAccess::kRead),
                     z = b.buffer("z", DType::kI64, BufferAccess::kWrite);
  MachineValue sum = b.add(b.load(x, b.i64(0)), b.load(y, b.i64(0)));
  for (const char* name : {"a", "b", "c", "d"}) sum = b.add(sum, b.size(Dim(name)));
  b.store(z, b.i64(0), sum);
  const auto generator = make_llvm_generator();
  const PlannedKernel planned = generator->plan(b.finish(), target).value();
  const std::vector<ExecutableImage> parts = {generator->emit(planned, target).value()};
  ExecutableImage image = parts[0];
  image.format = ImageFormat::kGpuCode;
  image.bytes = link_images(parts).value();
  return image;
}

/// `num_dispatches` dispatches of three buffers and four sizes, with a barrier after each.
struct Program {
  explicit Program(std::int64_t num_dispatches) {
    const ExecutableImage image = make_image(device->targets().front());
    CommandList list;
    const SizeIndex bytes = list.add_size(8), zero = list.add_size(0);
    std::vector<BufferRange> ranges;
    for (const BindingKind kind : {BindingKind::kInput, BindingKind::kInput, BindingKind::kOutput}) {
      ranges.push_back({list.bindings.push_back({.kind = kind, .size_bytes = bytes}), zero, bytes});
    }
    const KernelIndex kernel = list.kernels.push_back(image.info);
    const std::vector<SizeIndex> arguments(kNumSizes, list.add_size(7));
    for (std::int64_t i = 0; i < num_dispatches; ++i) {
      list.commands.emplace_back(
          DispatchCommand{.kernel = kernel, .num_groups = list.add_size(1), .buffers = ranges, .sizes = arguments});
      list.commands.emplace_back(BarrierCommand{});
    }
    for (const SizeExpr& size : list.sizes) sizes.push_back(size.constant());
    recording = device->record(list, device->load({&image, 1}).value()).value();
    for (std::shared_ptr<Buffer>& buffer : buffers) {
      buffer = device->allocate(8).value();
      bindings.push_back(buffer->binding());
    }
    end = device->create_semaphore().value();
  }

  std::shared_ptr<HipDevice> device = create_hip_device({.library = hip_standin::kLibrary, .num_streams = 1}).value();
  std::shared_ptr<Recording> recording;
  std::array<std::shared_ptr<Buffer>, kNumBuffers> buffers;
  std::vector<BufferBinding> bindings;
  std::vector<std::int64_t> sizes;
  std::shared_ptr<Semaphore> end;
};

/// In a list of 1000 dispatches, the time must stay below 1 us per dispatch.
void submit_list(benchmark::State& state) {
  hip_standin::Control& control = hip_standin::open_control(hip_standin::kLibrary);
  control.reset({.checks_kernels = false});
  Program program(state.range(0));
  std::uint64_t value = 0;
  double total_ns = 0;
  for (auto _ : state) {
    control.hold_commands(true);
    const Timepoint signal[] = {{program.end, ++value}};
    const std::uint64_t standin_ns = control.thread_ns();
    const auto begin = std::chrono::steady_clock::now();
    const Status submitted = program.device->submit(
        *program.recording, {.bindings = program.bindings, .sizes = program.sizes, .signal = signal});
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    const double own_ns = taken.count() - static_cast<double>(control.thread_ns() - standin_ns);
    state.SetIterationTime(own_ns * 1e-9);
    total_ns += own_ns;
    control.hold_commands(false);
    if (!submitted.ok() || !program.end->wait(value).ok()) {
      state.SkipWithError("submit failed");
      return;
    }
    control.clear_calls();
  }
  const auto num_dispatches = static_cast<double>(state.iterations() * std::max<std::int64_t>(state.range(0), 1));
  state.counters["ns_per_dispatch"] = total_ns / num_dispatches;
}
BENCHMARK(submit_list)->Arg(0)->Arg(1)->Arg(100)->Arg(1000)->UseManualTime();

}  // namespace
}  // namespace millrace
