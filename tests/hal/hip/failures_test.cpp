// SPDX-License-Identifier: Apache-2.0
// Devices are lost and hang: the first error comes back, nothing leaks, and nothing hangs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "tests/hal/conformance/kernels.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hip_standin/standin.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using W = std::vector<std::uint32_t>;
using hip::Error;

/// Whether work that ended in turns succeeded, and how long the longest turn took.
struct Turns {
  bool is_right = true;
  std::chrono::nanoseconds longest{};
};

/// Lets one of ten submissions end each fifth of the time limit, while another waits until the last has ended.
Turns take_turns(HipDevice& device, hip_standin::Control& control, bool is_large, std::chrono::milliseconds limit) {
  constexpr std::uint64_t kNumTurns = 10;
  constexpr std::size_t kWords = 3000;
  Turns turns;
  std::atomic<std::uint64_t> last_turn = 0;
  const auto turn = timeline(device), waiting = timeline(device);
  const Words words(device, {0}), others(device, W(kWords));
  const Replay one = append_digit(device, 1), other = set_word(device, 3);
  ListBuilder b;
  const BindingIndex in = b.host("in", BindingKind::kInput, 4 * kWords), x = b.output("x", 4 * kWords);
  b.upload(b.range(in, 0, 4 * kWords), b.range(x, 0, 4 * kWords));
  const Replay upload(device, b);
  W from(kWords, 3);
  const BufferBinding given{.data = from.data(), .size_bytes = 4 * kWords};
  control.hold_commands(true);
  for (std::uint64_t i = 1; i <= kNumTurns; ++i) {
    turn->on_reached(i, [&, i](const Status&) {
      control.hold_commands(true);
      last_turn = i;
      last_turn.notify_one();
    });
    turns.is_right &= one.submit({words.binding()}, {{turn, i - 1}}, {{turn, i}}).ok();
  }
  turns.is_right &= (is_large ? upload.submit({given, others.binding()}, {}, {{waiting, 1}})
                              : other.submit({others.binding()}, {}, {{waiting, 1}}))
                        .ok();
  auto before = std::chrono::steady_clock::now();
  for (std::uint64_t i = 1; i <= kNumTurns; ++i) {
    std::this_thread::sleep_for(limit / 5);
    control.hold_commands(false);
    last_turn.wait(i - 1);
    turns.is_right &= turn->wait(i, 10s).ok();
    const auto now = std::chrono::steady_clock::now();
    turns.longest = std::max(turns.longest, std::chrono::nanoseconds(now - std::exchange(before, now)));
  }
  control.hold_commands(false);
  turns.is_right = turns.is_right && waiting->wait(1, 10s).ok() && others.read()[0] == 3;
  return turns;
}

Turns run_in_turns(bool is_large, std::chrono::milliseconds limit) {
  HipStandin standin({.max_commands_per_query = 1});
  Turns turns;
  {
    const HipDeviceOptions options{.time_limit = limit, .num_streams = is_large ? 1U : 2U, .staging_bytes = 4096};
    turns = take_turns(*standin.open(options).value(), standin.control, is_large, limit);
  }
  if (!turns.is_right) standin.num_quarantined = standin.control.live_objects().size();
  return turns;
}

}  // namespace

TEST_CASE("hip: an object whose release fails is counted, and does not count as a leak") {
  HipStandin standin;
  const auto device = standin.open({.num_streams = 1}).value();
  const ExecutableImage image = scale_on(device->targets().front());
  standin.control.fail_calls("hipModuleUnload", 1, Error::kInvalidValue);
  (void)device->load(std::span(&image, 1)).value();
  CHECK(device->losses() == HipLosses{.num_quarantined = 0, .num_failed_releases = 1});
}

TEST_CASE("hip: a lost device fails work in flight and every later call with one status, and other devices go on") {
  HipStandin standin({.devices = {{}, {}}});
  const auto device = standin.open().value(), other = standin.open({.ordinal = 1}).value();
  const Words words(*device, {0}), others(*other, {0});
  const auto gate = timeline(*device), never = timeline(*device), done = timeline(*device);
  const Replay one = append_digit(*device, 1), theirs = append_digit(*other, 1);
  REQUIRE(one.submit({words.binding()}, {{never, 1}}, {{gate, 1}}).ok());
  standin.control.lose_device(0);
  Status status = one.submit({words.binding()}, {}, {{done, 1}});
  if (status.ok()) status = done->wait(1, 10s);
  CHECK(status.code() == StatusCode::kDeviceLost);
  CHECK(status.message().starts_with("device 'hip:0' is lost: "));
  CHECK(status.message().find("hipErrorLaunchFailure") != std::string::npos);
  CHECK(done->wait(1).message() == status.message());
  for (const std::size_t size : {0u, 64u}) CHECK(device->allocate(size).status().message() == status.message());
  CHECK(device->record(ListBuilder().list, nullptr).status().message() == status.message());
  CHECK(device->create_semaphore().status().message() == status.message());
  CHECK(device->import_memory(nullptr, 0).status().message() == status.message());
  CHECK(device->pin_host({}).status().message() == status.message());
  W back(1);
  CHECK(device->read_back(*words.buffer, 0, std::as_writable_bytes(std::span(back))).message() == status.message());
  CHECK(one.submit({words.binding()}).message() == status.message());
  const ExecutableImage image = scale_on(device->targets().front());
  CHECK(device->load(std::span(&image, 1)).status().message() == status.message());
  REQUIRE(never->signal(1).ok());
  CHECK(gate->wait(1, 10s).message() == status.message());
  CHECK(wait_for(theirs, {others.binding()}).ok());
  CHECK(others.read() == W{1});
}

TEST_CASE(
    "hip: a device that finishes nothing is lost after the time limit, and keeps memory that HIP may never release") {
  HipStandin standin({.devices = {{}, {}}});
  const auto begin = std::chrono::steady_clock::now();
  {
    const auto other = standin.open({.ordinal = 1}).value();
    const Words others(*other, {0});
    {
      const auto device = standin.open({.time_limit = 500ms}).value();
      const Words words(*device, {0});
      auto spare = device->allocate(64).value();
      const auto done = timeline(*device), behind = timeline(*device);
      const Replay one = append_digit(*device, 1);
      standin.control.hang_launch(1);
      REQUIRE(one.submit({words.binding()}, {}, {{done, 1}}).ok());
      REQUIRE(one.submit({words.binding()}, {{done, 1}}, {{behind, 1}}).ok());
      const Status status = done->wait(1, 10s);
      CHECK(status.code() == StatusCode::kDeviceLost);
      CHECK(status.message() ==
            "device 'hip:0' is lost: submit: no work ended within 500 ms; look for a kernel that does not end, or "
            "raise the device's time_limit_ms");
      CHECK(behind->wait(1, 10s).message() == status.message());
      const std::uint64_t num_frees = standin.control.num_calls("hipFreeAsync");
      const std::uint64_t num_quarantined = device->losses().num_quarantined;
      spare.reset();
      CHECK(device->losses().num_quarantined == num_quarantined + 1);
      CHECK(standin.control.num_calls("hipFreeAsync") == num_frees);
      CHECK(device->allocate(64).status().message() == status.message());
      CHECK(wait_for(append_digit(*other, 1), {others.binding()}).ok());
    }
    CHECK(others.read() == W{1});
  }
  standin.num_quarantined = standin.control.live_objects().size();
  CHECK(std::chrono::steady_clock::now() - begin < 10s);  // it does not hang
}

TEST_CASE(
    "hip: a hang is remembered after its device is closed, because releases of host memory wait for all devices") {
  HipStandin standin({.devices = {{}, {}}});
  {
    const auto device = standin.open({.time_limit = 500ms}).value();
    const auto buffer = device->allocate(64).value();
    const auto done = timeline(*device);
    standin.control.hang_device(0);
    REQUIRE(append_digit(*device, 1).submit({buffer->binding()}, {}, {{done, 1}}).ok());
    CHECK(done->wait(1, 10s).code() == StatusCode::kDeviceLost);
  }
  standin.control.clear_calls();
  {
    const auto other = standin.open({.ordinal = 1}).value();
    const Words words(*other, {0});
    CHECK(wait_for(append_digit(*other, 1), {words.binding()}).ok());
    CHECK(words.read() == W{1});
  }
  CHECK(standin.control.num_calls("hipHostMalloc") > 0);
  CHECK(standin.control.num_calls("hipHostFree") == 0);
  standin.num_quarantined = standin.control.live_objects().size();
}

TEST_CASE("hip: a read without a time limit ends when another thread's call loses the device") {
  HipStandin standin;
  {
    const auto device = standin.open({.time_limit = 0ms}).value();
    const Words words(*device, {0});
    standin.control.hang_device(0);
    standin.control.clear_calls();
    W back(1);
    Status status;
    std::thread reader([&] { status = device->read_back(*words.buffer, 0, std::as_writable_bytes(std::span(back))); });
    while (standin.control.num_calls("hipEventQuery") == 0) std::this_thread::yield();
    standin.control.fail_calls("hipModuleLoadData", 1, Error::kLaunchFailure);
    const ExecutableImage image = scale_on(device->targets().front());
    const Status lost = device->load(std::span(&image, 1)).status();
    CHECK(lost.code() == StatusCode::kDeviceLost);
    reader.join();
    CHECK(status.message() == lost.message());
  }
  standin.num_quarantined = standin.control.live_objects().size();
}

TEST_CASE("hip: a large upload goes on after one whose event could not be recorded") {
  constexpr std::size_t kWords = 3000;
  for (std::uint64_t number = 1; number <= 8; ++number) {
    CAPTURE(number);
    const HipStandin standin;
    const auto device = standin.open({.num_streams = 1, .staging_bytes = 4096}).value();
    ListBuilder b;
    const BindingIndex in = b.host("in", BindingKind::kInput, 4 * kWords), x = b.output("x", 4 * kWords);
    b.upload(b.range(in, 0, 4 * kWords), b.range(x, 0, 4 * kWords));
    const Replay upload(*device, b);
    W first(kWords, 1), second(kWords, 2);
    const Words to(*device, W(kWords)), also_to(*device, W(kWords));
    const auto first_done = timeline(*device), second_done = timeline(*device);
    standin.control.hold_commands(true);  // until both are under way
    standin.control.fail_calls("hipEventRecord", number, Error::kUnknown);
    (void)upload.submit({{.data = first.data(), .size_bytes = 4 * kWords}, to.binding()}, {}, {{first_done, 1}});
    (void)upload.submit({{.data = second.data(), .size_bytes = 4 * kWords}, also_to.binding()}, {}, {{second_done, 1}});
    standin.control.hold_commands(false);
    const Status one = first_done->wait(1, 10s), other = second_done->wait(1, 10s);
    CHECK(one.ok() != other.ok());
    if (other.ok()) CHECK(also_to.read() == second);
  }
}

TEST_CASE("hip: a device that finishes some of its work is not lost, whatever waits meanwhile") {
  for (const bool is_large : {false, true}) {  // large: the waiting transfer uses the ring of pinned blocks
    CAPTURE(is_large);
    std::chrono::milliseconds limit = 400ms;
    Turns turns = run_in_turns(is_large, limit);
    // If the machine is so busy that one turn takes about the limit, the run proves nothing.
    while (!turns.is_right && turns.longest > limit / 2 && limit < 20s) {
      limit *= 4;
      turns = run_in_turns(is_large, limit);
    }
    CHECK(turns.is_right);
  }
}

TEST_CASE("hip: work that waits for the host does not reach the time limit") {
  HipStandin standin;
  const auto device = standin.open({.time_limit = 300ms}).value();
  const auto gate = timeline(*device), done = timeline(*device);
  REQUIRE(nothing(*device).submit({}, {{gate, 1}}, {{done, 1}}).ok());
  CHECK(done->wait(1, 600ms).code() == StatusCode::kDeadlineExceeded);
  REQUIRE(gate->signal(1).ok());
  CHECK(done->wait(1, 10s).ok());
}

TEST_CASE("hip: code that the runtime refuses is reported with kernel, device and reason") {
  HipStandin standin({.devices = {{.architecture = "gfx1100"}}});
  const auto device = standin.open().value();
  const ExecutableImage image = scale_on(device->targets().front());
  standin.control.fail_calls("hipModuleLoadData", 1, Error::kNoBinaryForGpu);
  const Status status = device->load(std::span(&image, 1)).status();
  CHECK(status.code() == StatusCode::kFailedPrecondition);
  CHECK(status.message() ==
        "load: kernel 'scale' on device 'hip:0', a gfx1100: hipModuleLoadData failed with hipErrorNoBinaryForGpu; the "
        "code is for another architecture, or the runtime is too old for this one: install a newer HIP runtime");
}

TEST_CASE("hip: a code object that ends before its headers say so is not given to the runtime") {
  HipStandin standin;
  const auto device = standin.open().value();
  const ExecutableImage whole = scale_on(device->targets().front());
  for (const std::size_t size : {std::size_t{0}, std::size_t{63}, whole.bytes.size() - 1}) {
    ExecutableImage cut = whole;
    cut.bytes = SharedBytes(std::span(whole.bytes.data(), size));
    const std::size_t expected = size < 64 ? 64 : whole.bytes.size();
    CHECK(device->load(std::span(&cut, 1)).status().message() ==
          "kernel 'scale': its code object has " + std::to_string(size) + " bytes, expected an ELF file of at least " +
              std::to_string(expected) + "; compile it again");
  }
  CHECK(standin.control.num_calls("hipModuleLoadData") == 0);
}

TEST_CASE("hip: a failing launch is reported with its command, and the device goes on") {
  HipStandin standin;
  const auto device = standin.open().value();
  const Words words(*device, {0});
  const Replay one = append_digit(*device, 1);
  standin.control.fail_calls("hipModuleLaunchKernel", 1, Error::kLaunchOutOfResources);
  CHECK(wait_for(one, {words.binding()}).message() ==
        "submit: command 0 (dispatch 'append'): hipModuleLaunchKernel failed with hipErrorLaunchOutOfResources; free "
        "memory, or launch less work at once");
  CHECK(wait_for(one, {words.binding()}).ok());
  CHECK(words.read() == W{1});
}

TEST_CASE("hip: more workgroups than a grid of the device has are refused") {
  HipStandin standin({.devices = {{.max_grid_x = 100}}});
  const auto device = standin.open().value();
  const ExecutableImage image = store_ids_on(device->targets().front());
  ListBuilder b;
  const BindingIndex y = b.output("y", 404);
  b.dispatch(b.kernel(image.info), Dim("groups"), {b.range(y, 0, 404)});
  Replay replay(*device, b, {image}, {{"groups", 100}});
  const Words words(*device, W(101));
  CHECK(wait_for(replay, {words.binding()}).ok());
  replay.sizes = b.evaluate({{"groups", 101}});
  CHECK(wait_for(replay, {words.binding()}).message() ==
        "submit: command 0 (dispatch 'store_ids'): 101 workgroups, expected at most 100 on device 'hip:0'; give each "
        "workgroup more work");
}

}  // namespace millrace
