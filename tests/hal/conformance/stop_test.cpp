// SPDX-License-Identifier: Apache-2.0
// Submissions that are asked to stop, on every device.
#include <chrono>
#include <stop_token>
#include <thread>

#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"
#include "tests/hal/conformance/replay.h"

namespace millrace {
namespace {

using W = std::vector<std::uint32_t>;

constexpr const char* kStoppedWaiting = "submit: stopped on request; what it should have written is unspecified";

Status submit(const Replay& replay, const BufferBinding& binding, const Timepoint& wait, const Timepoint& signal,
              std::stop_token stop) {
  return replay.device.submit(*replay.recording, {.bindings = {&binding, 1},
                                                  .sizes = replay.sizes,
                                                  .wait = {&wait, wait.semaphore == nullptr ? 0u : 1u},
                                                  .signal = {&signal, 1},
                                                  .stop = std::move(stop)});
}

}  // namespace

TEST_CASE("device: a submission that waits ends at once when it is asked to stop, and never begins") {
  on_every_device([](TestedDevice& device) {
    const auto gate = timeline(device.raw()), done = timeline(device.raw()), after = timeline(device.raw());
    const Words words(device.raw(), {1});
    const Replay five = set_word(device.raw(), 5), seven = set_word(device.raw(), 7);
    std::stop_source stop;
    REQUIRE(submit(five, words.binding(), {gate, 1}, {done, 1}, stop.get_token()).ok());
    CHECK(done->query().value() == 0);
    stop.request_stop();
    const Status status = done->wait(1);
    CHECK(status.code() == StatusCode::kCancelled);
    CHECK(status.message() == kStoppedWaiting);
    REQUIRE(gate->signal(1).ok());
    REQUIRE(submit(seven, words.binding(), {}, {after, 1}, {}).ok());
    REQUIRE(after->wait(1).ok());
    CHECK(words.read() == W{7});
  });
}

TEST_CASE("device: a submission that was asked to stop before it was submitted does nothing, waiting or not") {
  on_every_device([](TestedDevice& device) {
    std::stop_source stop;
    stop.request_stop();
    const Words words(device.raw(), {1});
    const Replay five = set_word(device.raw(), 5);
    for (const bool waits : {false, true}) {
      const auto gate = timeline(device.raw()), done = timeline(device.raw());
      (void)submit(five, words.binding(), waits ? Timepoint{gate, 1} : Timepoint{}, {done, 1}, stop.get_token());
      const Status status = done->wait(1);
      CHECK(status.code() == StatusCode::kCancelled);
      CHECK(status.message().ends_with("stopped on request; what it should have written is unspecified"));
      CHECK(words.read() == W{1});
    }
  });
}

TEST_CASE("device: a submission that is never asked to stop, or too late, runs like any other") {
  on_every_device([](TestedDevice& device) {
    std::stop_source stop;
    const auto gate = timeline(device.raw()), done = timeline(device.raw());
    const Words words(device.raw(), {1});
    const Replay replay = append_digit(device.raw(), 5);
    REQUIRE(submit(replay, words.binding(), {gate, 1}, {done, 1}, stop.get_token()).ok());
    REQUIRE(submit(replay, words.binding(), {done, 1}, {done, 2}, stop.get_token()).ok());
    REQUIRE(gate->signal(1).ok());
    REQUIRE(done->wait(2).ok());
    stop.request_stop();
    CHECK(done->query().value() == 2);
    CHECK(words.read() == W{155});
  });
}

TEST_CASE("device: a submission that is asked to stop while it begins either runs or is cancelled") {
  on_every_device([](TestedDevice& device) {
    const Words words(device.raw(), {1});
    const Replay five = set_word(device.raw(), 5);
    std::size_t num_others = 0;
    for (int i = 0; i < 50; ++i) {
      const auto gate = timeline(device.raw()), done = timeline(device.raw());
      std::stop_source stop;
      REQUIRE(submit(five, words.binding(), {gate, 1}, {done, 1}, stop.get_token()).ok());
      std::thread stopper([&] { stop.request_stop(); });
      (void)gate->signal(1);
      const Status status = done->wait(1, std::chrono::seconds(10));
      stopper.join();
      num_others += status.ok() || status.code() == StatusCode::kCancelled ? 0 : 1;
    }
    CHECK(num_others == 0);
    REQUIRE(wait_for(five, {words.binding()}).ok());
    CHECK(words.read() == W{5});
  });
}

TEST_CASE("device: work that waits for a stopped submission fails with it") {
  on_every_device([](TestedDevice& device) {
    std::stop_source stop;
    const auto gate = timeline(device.raw()), first = timeline(device.raw()), second = timeline(device.raw());
    const Words words(device.raw(), {1});
    const Replay replay = append_digit(device.raw(), 5);
    REQUIRE(submit(replay, words.binding(), {gate, 1}, {first, 1}, stop.get_token()).ok());
    REQUIRE(submit(replay, words.binding(), {first, 1}, {second, 1}, {}).ok());
    stop.request_stop();
    CHECK(second->wait(1).message() == kStoppedWaiting);
    REQUIRE(gate->signal(1).ok());
    CHECK(words.read() == W{1});
  });
}

}  // namespace millrace
