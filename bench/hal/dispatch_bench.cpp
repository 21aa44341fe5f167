// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "millrace/hal/device.h"

// What the inline device costs beyond the kernels: they are one instruction, `ret`, so all that is measured is ours.

namespace millrace {
namespace {

constexpr std::uint32_t kNumBuffers = 3;
constexpr std::uint32_t kNumSizes = 4;

ExecutableImage empty_kernel() {
  return {.target = "cpu:baseline",
          .info = {.name = "empty",
                   .num_buffers = kNumBuffers,
                   .num_sizes = kNumSizes,
                   .buffer_is_written = {false, false, true}},
          .bytes = {std::byte{0xc3}},
          .code_bytes = 1};
}

/// `num_dispatches` dispatches of three buffers and four sizes, with a barrier after each.
struct Program {
  Program(std::int64_t num_dispatches, const SizeExpr& n) {
    CommandList list;
    const SizeIndex bytes = list.add_size(n * 4);
    const SizeIndex zero = list.add_size(0);
    std::vector<BufferRange> buffers;
    for (const BindingKind kind : {BindingKind::kInput, BindingKind::kInput, BindingKind::kOutput}) {
      buffers.push_back({list.bindings.push_back({.kind = kind, .size_bytes = bytes}), zero, bytes});
    }
    const std::vector<ExecutableImage> images = {empty_kernel()};
    const KernelIndex kernel = list.kernels.push_back(images[0].info);
    const std::vector<SizeIndex> sizes(kNumSizes, list.add_size(n));
    for (std::int64_t i = 0; i < num_dispatches; ++i) {
      list.commands.emplace_back(
          DispatchCommand{.kernel = kernel, .num_groups = list.add_size(1), .buffers = buffers, .sizes = sizes});
      list.commands.emplace_back(BarrierCommand{});
    }
    for (const SizeExpr& size : list.sizes) values.push_back(size.evaluate({{"n", 64}}).value());
    recording = device->record(list, device->load(images).value()).value();
    for (auto& buffer : memory) bindings.push_back({buffer.data(), sizeof(buffer)});
  }

  std::shared_ptr<Device> device = create_cpu_device(TargetSpec::parse("cpu").value()).value();
  std::array<std::array<float, 64>, kNumBuffers> memory{};
  std::vector<BufferBinding> bindings;
  std::vector<std::int64_t> values;
  std::shared_ptr<Recording> recording;
};

void submit_repeatedly(benchmark::State& state, Program& program) {
  for (auto _ : state) {
    if (!program.device->submit(*program.recording, {.bindings = program.bindings, .sizes = program.values}).ok()) {
      state.SkipWithError("submit failed");
      return;
    }
  }
}

void submit_constant_sizes(benchmark::State& state) {
  Program program(state.range(0), 64);
  submit_repeatedly(state, program);
}
BENCHMARK(submit_constant_sizes)->Arg(0)->Arg(1)->Arg(10)->Arg(100);

void submit_symbolic_sizes(benchmark::State& state) {
  Program program(state.range(0), Dim("n").at_most(64));
  submit_repeatedly(state, program);
}
BENCHMARK(submit_symbolic_sizes)->Arg(1)->Arg(10)->Arg(100);

void submit_and_signal(benchmark::State& state) {
  Program program(1, 64);
  const auto semaphore = Semaphore::create();
  std::uint64_t value = 0;
  for (auto _ : state) {
    const Timepoint signal[] = {{semaphore, ++value}};
    const Submission submission{.bindings = program.bindings, .sizes = program.values, .signal = signal};
    if (!program.device->submit(*program.recording, submission).ok()) {
      state.SkipWithError("submit failed");
      return;
    }
  }
}
BENCHMARK(submit_and_signal);

void load_one_kernel(benchmark::State& state) {
  const auto device = create_cpu_device(TargetSpec::parse("cpu").value()).value();
  const std::vector<ExecutableImage> images = {empty_kernel()};
  for (auto _ : state) benchmark::DoNotOptimize(device->load(images).value());
}
BENCHMARK(load_one_kernel);

}  // namespace
}  // namespace millrace
