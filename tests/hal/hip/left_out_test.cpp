// SPDX-License-Identifier: Apache-2.0
// Each wait, event, copy and fill of the driver is needed: without it, the result is wrong.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include "hal/hip/runtime.h"
#include "tests/hal/conformance/kernels.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hip_standin/hip_calls.h"
#include "tests/hip_standin/standin.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using W = std::vector<std::uint32_t>;

/// p = {x, y}.
Replay gather(Device& device) {
  ListBuilder b;
  const BindingIndex x = b.input("x", 4), y = b.input("y", 4), p = b.output("p", 8);
  b.copy(b.range(x, 0, 4), b.range(p, 0, 4));
  b.copy(b.range(y, 0, 4), b.range(p, 4, 4));
  return {device, b};
}

/// q[i] = 3 * p[i] in two branches, then out = q.
Replay scale_in_branches(Device& device) {
  const ExecutableImage image = scale_on(device.targets().front());
  ListBuilder b;
  const BindingIndex p = b.input("p", 8), q = b.output("q", 8), out = b.host("out", BindingKind::kOutput, 8);
  const KernelIndex kernel = b.kernel(image.info);
  b.dispatch(kernel, 1, {b.range(p, 0, 4), b.range(q, 0, 4)}, {3});
  b.dispatch(kernel, 1, {b.range(p, 4, 4), b.range(q, 4, 4)}, {3});
  b.barrier();
  b.download(b.range(q, 0, 8), b.range(out, 0, 8));
  return {device, b, {image}};
}

/// Whether a submission ends while no command runs. In each iteration, the device's thread queries HIP about at least
/// one submission and at most all of them, and signals an end before the next iteration.
bool has_early_end(const std::vector<std::shared_ptr<Semaphore>>& ends, const hip_standin::Control& control) {
  const auto is_early = [&] {
    return std::ranges::any_of(ends, [](const auto& end) { return !end->query().ok() || *end->query() != 0; });
  };
  const std::uint64_t enough = control.num_calls("hipEventQuery") + 4 * ends.size();
  const auto begin = std::chrono::steady_clock::now();
  while (!is_early() && control.num_calls("hipEventQuery") < enough) {
    REQUIRE(std::chrono::steady_clock::now() - begin < 10s);
    std::this_thread::yield();
  }
  return is_early();
}

/// Ok if all is as it should be. Two submissions on two streams, one that waits for both, and one with branches.
/// Nothing may end while the stand-in runs no commands.
Status run_chain(HipDevice& device, hip_standin::Control& control) {
  const hip::Calls hip = hip::open_calls(hip_standin::kLibrary);
  void* p = nullptr;
  REQUIRE(hip.hipMalloc(&p, 64) == hip::Error::kSuccess);
  const std::shared_ptr<void> owner(p, [&](void* memory) { (void)hip.hipFree(memory); });
  const Replay two = set_word(device, 2), five = set_word(device, 5), both = gather(device);
  const Replay branches = scale_in_branches(device);
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (const std::size_t size : {4u, 4u, 8u}) {
    MILLRACE_TRY_ASSIGN(std::shared_ptr<Buffer> buffer, device.allocate(size));
    buffers.push_back(std::move(buffer));
  }
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Buffer> imported, device.import_memory(p, 8));
  buffers.push_back(std::move(imported));
  const auto at = [&](std::size_t i) { return buffers[i]->binding(); };
  const std::vector<std::shared_ptr<Semaphore>> ends = {timeline(device), timeline(device), timeline(device),
                                                        timeline(device)};
  W out(2);
  control.hold_commands(true);
  MILLRACE_TRY(two.submit({at(0)}, {}, {{ends[0], 1}}));
  MILLRACE_TRY(five.submit({at(1)}, {}, {{ends[1], 1}}));
  MILLRACE_TRY(both.submit({at(0), at(1), at(3)}, {{ends[1], 1}, {ends[0], 1}}, {{ends[2], 1}}));
  MILLRACE_TRY(branches.submit({at(3), at(2), {.data = out.data(), .size_bytes = 8}}, {{ends[2], 1}}, {{ends[3], 1}}));
  bool is_early = has_early_end(ends, control);
  // On the device's own thread, which runs no command meanwhile.
  std::atomic<bool> is_word_missing = false;
  ends[2]->on_reached(1, [&](const Status&) { is_word_missing = control.peek(p, 5)[4] != std::byte{5}; });
  control.hold_commands(false);
  for (const auto& end : ends) (void)end->wait(1, 10s);
  for (const auto& end : ends) MILLRACE_TRY(end->wait(1, 0s));
  is_early |= is_word_missing;
  if (is_early) return internal_error("an end that came too early");
  return out == W{6, 15} ? Status() : internal_error("wrong words");
}

/// Whether the result is wrong without the call, in one of many orders that streams and events leave open.
bool is_missed(std::string_view entry, std::uint64_t number, bool& was_left_out) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    hip_standin::Control& control = hip_standin::open_control(hip_standin::kLibrary);
    control.reset({.seed = seed, .max_commands_per_query = 1});
    hip::Runtime::forget_hung_devices();
    Status status;
    {
      const auto device = create_hip_device({.library = HipStandin::library(), .time_limit = 2s, .num_streams = 3});
      REQUIRE(device.ok());
      control.fail_calls(entry, number, hip::Error::kSuccess);
      status = run_chain(**device, control);
      was_left_out = control.have_failed();
    }
    const bool goes_wrong = !status.ok() || !control.take_findings().empty();
    control.reset({});
    if (!was_left_out) return false;
    if (goes_wrong) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("hip: the chain of the next case succeeds in every order") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const HipStandin standin({.seed = seed, .max_commands_per_query = 1});
    const auto device = standin.open({.num_streams = 3}).value();
    CHECK(run_chain(*device, standin.control).ok());
  }
}

TEST_CASE("hip: no wait, event, copy, fill or launch may be left out") {
  for (const std::string_view entry :
       {"hipStreamWaitEvent", "hipEventRecord", "hipMemcpyAsync", "hipMemsetD32Async", "hipModuleLaunchKernel"}) {
    CAPTURE(entry);
    std::uint64_t number = 1;
    for (bool was_left_out = true; was_left_out; ++number) {
      CAPTURE(number);
      const bool missed = is_missed(entry, number, was_left_out);
      if (was_left_out) CHECK(missed);
    }
    CHECK(number > 2);
  }
}

}  // namespace millrace
