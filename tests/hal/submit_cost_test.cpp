// SPDX-License-Identifier: Apache-2.0
// The cost of a submission to the inline device in instructions, counted and not timed. The bar is 0.10 us for
// submitting, signalling and waiting, and 0.05 us for each dispatch of a long list: bench/hal/dispatch_bench has the
// times.
#include <atomic>
#include <cstdlib>

#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/test_kernels.h"
#include "tests/support/kernels/path_counts.h"

namespace millrace {
namespace {

ExecutableImage empty_kernel(std::string name) {
  return code_image(
      {.name = std::move(name), .num_buffers = 3, .num_sizes = 1, .buffer_is_written = {false, false, true}}, {0xc3});
}

/// `num_dispatches` of `num_kernels` kernels that do nothing, one after another.
struct EmptyList {
  EmptyList(std::int64_t num_dispatches, int num_kernels) {
    std::vector<ExecutableImage> images;
    for (int i = 0; i < num_kernels; ++i) {
      images.push_back(empty_kernel("empty_" + std::to_string(i)));
      b.kernel(images.back().info);
    }
    const BindingIndex x = b.input("x", 256), y = b.output("y", 256);
    for (std::int64_t i = 0; i < num_dispatches; ++i) {
      b.dispatch(KernelIndex(i % num_kernels), 1, {b.range(x, 0, 256), b.range(x, 0, 256), b.range(y, 0, 256)}, {64});
      b.barrier();
    }
    recording = device->record(b.list, device->load(images).value()).value();
    sizes = b.evaluate();
  }

  ListBuilder b;
  std::shared_ptr<Device> device = create_cpu_device(TargetSpec::parse("cpu").value()).value();
  std::shared_ptr<Recording> recording;
  std::vector<std::int64_t> sizes;
  std::vector<float> x = std::vector<float>(64), y = std::vector<float>(64);
  std::vector<BufferBinding> bindings = {bind(x), bind(y)};
};

}  // namespace

TEST_CASE("the counter of a path counts its instructions") {
  std::atomic<int> value = 0;
  void (*volatile add)(std::atomic<int>&) = [](std::atomic<int>& at) { at += 2; };
  const auto nothing = test::count_path([] {});
  if (!nothing) {
    MESSAGE("skipped: this system forbids to trace a child process");
    return;
  }
  const auto counted = test::count_path([&] {
    for (int i = 0; i < 10; ++i) add(value);
    value.exchange(1);
  });
  CHECK(counted->atomics - nothing->atomics == 11);
  CHECK(counted->indirect_calls - nothing->indirect_calls == 10);
  CHECK(counted->instructions - nothing->instructions > 40);
}

TEST_CASE("submitting one dispatch inline, with its signal and the wait for it, takes few instructions") {
  EmptyList list(1, 1);
  const auto done = Semaphore::create();
  std::uint64_t value = 0;
  const auto counts = test::count_path([&] {
    const Timepoint signal[] = {{done, ++value}};
    const Submission submission{.bindings = list.bindings, .sizes = list.sizes, .signal = signal};
    if (!list.device->submit(*list.recording, submission).ok() || !done->wait(value).ok()) std::abort();
  });
  if (!counts) return;
  INFO("instructions ", counts->instructions, ", atomics ", counts->atomics, ", indirect calls ",
       counts->indirect_calls);
  CHECK(counts->instructions <= 1400);  // 1152 by GCC 12, in 53 ns
  CHECK(counts->atomics <= 8);
  CHECK(counts->indirect_calls <= 5);
}

TEST_CASE("each dispatch of a long list takes few instructions, no atomic and few indirect calls") {
  EmptyList few(100, 100), many(1100, 100);
  const auto submit = [](EmptyList& list) {
    return test::count_path([&] {
      if (!list.device->submit(*list.recording, {.bindings = list.bindings, .sizes = list.sizes}).ok()) std::abort();
    });
  };
  const auto base = submit(few), counts = submit(many);
  if (!base || !counts) return;
  const double instructions = static_cast<double>(counts->instructions - base->instructions) / 1000;
  INFO("instructions ", instructions);
  CHECK(instructions <= 260);  // 211 by GCC 12, in 20 ns
  CHECK(counts->atomics == base->atomics);
  CHECK(counts->indirect_calls - base->indirect_calls <= 4000);
}

}  // namespace millrace
