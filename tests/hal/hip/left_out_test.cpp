// SPDX-License-Identifier: Apache-2.0
// Each wait, event, copy and fill that the driver asks for is needed: leave it out, and something goes wrong.
#include <algorithm>
#include <chrono>

#include <doctest/doctest.h>

#include "tests/hal/conformance/kernels.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hal/hip/standin.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using W = std::vector<std::uint32_t>;

/// y[i] = 3 * x[i] in two branches, then z = y.
Replay scale_in_branches(Device& device) {
  const ExecutableImage image = scale_on(device.targets().front());
  ListBuilder b;
  const BindingIndex x = b.input("x", 8), y = b.output("y", 8), z = b.output("z", 8);
  const KernelIndex kernel = b.kernel(image.info);
  b.dispatch(kernel, 1, {b.range(x, 0, 4), b.range(y, 0, 4)}, {3});
  b.dispatch(kernel, 1, {b.range(x, 4, 4), b.range(y, 4, 4)}, {3});
  b.barrier();
  b.copy(b.range(y, 0, 8), b.range(z, 0, 8));
  return {device, b, {image}};
}

/// to[number] = from[0].
Replay copy_word(Device& device, std::int64_t number) {
  ListBuilder b;
  const BindingIndex from = b.input("from", 4), to = b.output("to", 8);
  b.copy(b.range(from, 0, 4), b.range(to, 4 * number, 4));
  return {device, b};
}

/// Ok if all is as it should be. Two submissions on two streams, a third that waits for both, and one with branches.
Status run_chain(Device& device) {
  const Replay two = set_word(device, 2), five = set_word(device, 5), branches = scale_in_branches(device);
  const Replay first = copy_word(device, 0), second = copy_word(device, 1);
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (const std::size_t size : {4u, 4u, 8u, 8u, 8u}) {
    MILLRACE_TRY_ASSIGN(std::shared_ptr<Buffer> buffer, device.allocate(size));
    buffers.push_back(std::move(buffer));
  }
  const auto at = [&](std::size_t i) { return buffers[i]->binding(); };
  const auto a = timeline(device), c = timeline(device), end = timeline(device);
  MILLRACE_TRY(two.submit({at(0)}, {}, {{a, 1}}));
  MILLRACE_TRY(five.submit({at(1)}, {}, {{c, 1}}));
  MILLRACE_TRY(first.submit({at(0), at(2)}, {{c, 1}, {a, 1}}, {{a, 2}}));
  MILLRACE_TRY(second.submit({at(1), at(2)}, {{a, 2}, {c, 1}}, {{c, 2}}));
  MILLRACE_TRY(branches.submit({at(2), at(3), at(4)}, {{a, 2}, {c, 2}}, {{end, 1}}));
  MILLRACE_TRY(end->wait(1, 10s));
  W found(2);
  MILLRACE_TRY(device.read_back(*buffers[4], 0, std::as_writable_bytes(std::span(found))));
  return found == W{6, 15} ? Status() : internal_error("wrong words");
}

/// Whether something goes wrong when the call is left out, in one of many orders of what streams leave open.
bool is_missed(std::string_view entry, std::uint64_t number, bool& was_left_out) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    hip_standin::Control& control = hip_standin::open_control(MILLRACE_HIP_STANDIN);
    control.reset({.seed = seed, .max_commands_per_query = 1});
    Status status;
    {
      const auto device = create_hip_device({.library = HipStandin::library(), .time_limit = 2s, .num_streams = 3});
      REQUIRE(device.ok());
      control.fail_calls(entry, number, hip::Error::kSuccess);
      status = run_chain(**device);
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

TEST_CASE("hip: the chain of the next case goes well in every order") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const HipStandin standin({.seed = seed, .max_commands_per_query = 1});
    const auto device = standin.open({.num_streams = 3}).value();
    CHECK(run_chain(*device).ok());
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
