// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "millrace/hal/device.h"

// The overhead of the inline device: each kernel is one instruction, `ret`.

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
          .bytes = std::vector<std::byte>{std::byte{0xc3}},
          .code_bytes = 1};
}

/// Each kernel has its own code.
std::vector<ExecutableImage> empty_kernels(std::int64_t count) {
  std::vector<ExecutableImage> images;
  for (std::int64_t i = 0; i < count; ++i) {
    images.push_back(empty_kernel());
    images.back().info.name += std::to_string(i);
  }
  return images;
}

/// `num_dispatches` dispatches, which cycle through the kernels. Each has three buffers and four sizes, and a barrier
/// after it.
struct Program {
  Program(std::int64_t num_dispatches, const SizeExpr& n, std::int64_t num_kernels = 1) {
    CommandList list;
    const SizeIndex bytes = list.add_size(n * 4);
    const SizeIndex zero = list.add_size(0);
    std::vector<BufferRange> buffers;
    for (const BindingKind kind : {BindingKind::kInput, BindingKind::kInput, BindingKind::kOutput}) {
      buffers.push_back({list.bindings.push_back({.kind = kind, .size_bytes = bytes}), zero, bytes});
    }
    const std::vector<ExecutableImage> images = empty_kernels(num_kernels);
    for (const ExecutableImage& image : images) list.kernels.push_back(image.info);
    const std::vector<SizeIndex> sizes(kNumSizes, list.add_size(n));
    for (std::int64_t i = 0; i < num_dispatches; ++i) {
      list.commands.emplace_back(DispatchCommand{
          .kernel = KernelIndex(i % num_kernels), .num_groups = list.add_size(1), .buffers = buffers, .sizes = sizes});
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

/// The time must stay below 0.10 us.
void submit_signal_and_wait(benchmark::State& state) {
  Program program(1, 64);
  const auto semaphore = program.device->create_semaphore().value();
  std::uint64_t value = 0;
  for (auto _ : state) {
    const Timepoint signal[] = {{semaphore, ++value}};
    const Submission submission{.bindings = program.bindings, .sizes = program.values, .signal = signal};
    if (!program.device->submit(*program.recording, submission).ok() || !semaphore->wait(value).ok()) {
      state.SkipWithError("submit failed");
      return;
    }
  }
}
BENCHMARK(submit_signal_and_wait);

/// A list of 1000 dispatches of range(0) different kernels. The time must stay below 0.05 us per dispatch.
void replay_long_list(benchmark::State& state) {
  Program program(1000, 64, state.range(0));
  submit_repeatedly(state, program);
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(replay_long_list)->Arg(1)->Arg(200);

void load_one_kernel(benchmark::State& state) {
  const auto device = create_cpu_device(TargetSpec::parse("cpu").value()).value();
  const std::vector<ExecutableImage> images = {empty_kernel()};
  for (auto _ : state) benchmark::DoNotOptimize(device->load(images).value());
}
BENCHMARK(load_one_kernel);

}  // namespace
}  // namespace millrace
