// SPDX-License-Identifier: Apache-2.0
// Requests to stop for the waits that only this driver has.
#include <chrono>
#include <stop_token>
#include <thread>

#include <doctest/doctest.h>

#include "tests/hal/conformance/replay.h"
#include "tests/hip_standin/standin.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using W = std::vector<std::uint32_t>;

constexpr const char* kStopped = "submit: stopped on request; what it should have written is unspecified";

Replay upload_of(Device& device, std::int64_t num_bytes) {
  ListBuilder b;
  const BindingIndex in = b.host("in", BindingKind::kInput, num_bytes), x = b.output("x", num_bytes);
  b.upload(b.range(in, 0, num_bytes), b.range(x, 0, num_bytes));
  return {device, b};
}

Replay download_of(Device& device, std::int64_t num_bytes) {
  ListBuilder b;
  const BindingIndex x = b.input("x", num_bytes), out = b.host("out", BindingKind::kOutput, num_bytes);
  b.download(b.range(x, 0, num_bytes), b.range(out, 0, num_bytes));
  return {device, b};
}

BufferBinding bind(W& words) { return {.data = words.data(), .size_bytes = 4 * words.size()}; }

Status submit(const Replay& replay, const std::vector<BufferBinding>& bindings, const std::vector<Timepoint>& wait,
              const Timepoint& signal, const std::stop_source& stop) {
  return replay.device.submit(
      *replay.recording,
      {.bindings = bindings, .sizes = replay.sizes, .wait = wait, .signal = {&signal, 1}, .stop = stop.get_token()});
}

}  // namespace

TEST_CASE("hip: an upload that waits for another submission's download ends at once when it is asked to stop") {
  const HipStandin standin;
  const auto device = standin.open().value();
  const Replay down = download_of(*device, 16), up = upload_of(*device, 16);
  const Words from(*device, {1, 2, 3, 4}), to(*device, W(4));
  W words(4);
  const auto turn = timeline(*device), done = timeline(*device);
  std::stop_source stop;
  standin.control.hold_commands(true);
  REQUIRE(down.submit({from.binding(), bind(words)}, {}, {{turn, 1}}).ok());
  REQUIRE(submit(up, {bind(words), to.binding()}, {{turn, 1}}, {done, 1}, stop).ok());
  // The device's thread has handled the submissions that ended before, and queries the download alone.
  const std::uint64_t enough = standin.control.num_calls("hipEventQuery") + 3;
  while (standin.control.num_calls("hipEventQuery") < enough) std::this_thread::yield();
  stop.request_stop();
  CHECK(done->wait(1, 10s).message() == kStopped);
  standin.control.hold_commands(false);
  REQUIRE(turn->wait(1, 10s).ok());
  CHECK(words == W{1, 2, 3, 4});
  CHECK(to.read() == W(4));
}

TEST_CASE("hip: a large upload stops between its pieces, and the next one is whole") {
  constexpr std::size_t kWords = 3000;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    CAPTURE(seed);
    const HipStandin standin({.seed = seed});
    const auto device = standin.open({.num_streams = 1, .staging_bytes = 4096}).value();
    const Replay upload = upload_of(*device, 4 * kWords);
    W first(kWords, 1), second(kWords, 2);
    const Words to(*device, W(kWords)), also_to(*device, W(kWords));
    const auto first_done = timeline(*device), second_done = timeline(*device);
    std::stop_source stop;
    standin.control.hold_commands(true);  // the two pinned blocks are full, and there are three pieces
    REQUIRE(submit(upload, {bind(first), to.binding()}, {}, {first_done, 1}, stop).ok());
    REQUIRE(upload.submit({bind(second), also_to.binding()}, {}, {{second_done, 1}}).ok());
    stop.request_stop();
    standin.control.hold_commands(false);
    CHECK(first_done->wait(1, 10s).message() == kStopped);
    REQUIRE(second_done->wait(1, 10s).ok());
    CHECK(also_to.read() == second);
  }
}

}  // namespace millrace
