// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "tests/hip_standin/application.h"

namespace millrace::hip_standin {
namespace {

using hip::CopyKind;
using hip::Error;

/// Two streams and a word of the device, which they set.
struct TwoStreams : Application {
  explicit TwoStreams(const Options& options = {}) : Application(options) {}
  ~TwoStreams() {
    control.run_all();
    CHECK(hip.hipStreamDestroy(a) == Error::kSuccess);
    CHECK(hip.hipStreamDestroy(b) == Error::kSuccess);
    CHECK(hip.hipEventDestroy(event) == Error::kSuccess);
    CHECK(hip.hipFree(word) == Error::kSuccess);
  }
  void set(hip::Stream stream, int value) { CHECK(hip.hipMemsetD32Async(word, value, 1, stream) == Error::kSuccess); }
  int value() { return peek<int>(word); }

  hip::Stream a = make_stream(), b = make_stream();
  hip::Event event = make_event();
  std::byte* word = allocate(4);
};

TEST_CASE("a queued command runs when a call waits for it, not before") {
  TwoStreams app;
  app.set(app.a, 1);
  CHECK(app.control.num_queued_commands() == 1);
  CHECK(app.value() == -1);
  CHECK(app.hip.hipEventRecord(app.event, app.a) == Error::kSuccess);
  CHECK(app.value() == -1);
  CHECK(app.hip.hipEventQuery(app.event) == Error::kSuccess);
  CHECK(app.value() == 1);
}

TEST_CASE("commands that are held do not run") {
  TwoStreams app;
  app.control.hold_commands(true);
  app.set(app.a, 1);
  CHECK(app.hip.hipEventRecord(app.event, app.a) == Error::kSuccess);
  CHECK(app.hip.hipEventQuery(app.event) == Error::kNotReady);
  CHECK(app.value() == -1);
  app.control.hold_commands(false);
  CHECK(app.hip.hipEventQuery(app.event) == Error::kSuccess);
}

TEST_CASE("a query runs a few commands only") {
  TwoStreams app({.max_commands_per_query = 2});
  for (int i = 0; i < 4; ++i) app.set(app.a, i);
  CHECK(app.hip.hipEventRecord(app.event, app.a) == Error::kSuccess);
  CHECK(app.hip.hipEventQuery(app.event) == Error::kNotReady);
  CHECK(app.value() == 1);
  CHECK(app.hip.hipEventQuery(app.event) == Error::kNotReady);
  CHECK(app.hip.hipEventQuery(app.event) == Error::kSuccess);
  CHECK(app.value() == 3);
}

TEST_CASE("streams run in any order, by the seed") {
  std::set<int> values;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TwoStreams app({.seed = seed});
    app.set(app.a, 1);
    app.set(app.b, 2);
    app.control.run_all();
    values.insert(app.value());
  }
  CHECK(values == std::set<int>{1, 2});
}

TEST_CASE("a stream that waits for an event runs after the recorded work") {
  for (std::uint64_t seed = 0; seed <= 20; ++seed) {
    for (const Eagerness eagerness : {Eagerness::kLazy, Eagerness::kMixed, Eagerness::kEager}) {
      TwoStreams app({.seed = seed, .eagerness = eagerness});
      app.set(app.a, 1);
      CHECK(app.hip.hipEventRecord(app.event, app.a) == Error::kSuccess);
      CHECK(app.hip.hipStreamWaitEvent(app.b, app.event, 0) == Error::kSuccess);
      app.set(app.b, 2);
      app.control.run_all();
      CHECK(app.value() == 2);
    }
  }
}

TEST_CASE("an event that was never recorded counts as done") {
  TwoStreams app;
  CHECK(app.hip.hipEventQuery(app.event) == Error::kSuccess);
  CHECK(app.hip.hipStreamWaitEvent(app.b, app.event, 0) == Error::kSuccess);
  CHECK(app.control.num_queued_commands() == 0);
}

TEST_CASE("a wait is for the last recording before it was queued") {
  TwoStreams app({.max_commands_per_query = 3});
  CHECK(app.hip.hipEventRecord(app.event, app.a) == Error::kSuccess);
  CHECK(app.hip.hipStreamWaitEvent(app.b, app.event, 0) == Error::kSuccess);
  app.set(app.b, 2);
  app.set(app.a, 1);
  CHECK(app.hip.hipEventRecord(app.event, app.a) == Error::kSuccess);
  CHECK(app.hip.hipEventQuery(app.event) == Error::kNotReady);
  CHECK(app.value() == 2);
  CHECK(app.hip.hipEventQuery(app.event) == Error::kSuccess);
  CHECK(app.value() == 1);
}

TEST_CASE("an eager device runs at once all that may run") {
  TwoStreams app({.eagerness = Eagerness::kEager});
  app.set(app.a, 1);
  CHECK(app.value() == 1);
}

TEST_CASE("with a seed, some commands run when they are queued") {
  std::set<int> values;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    TwoStreams app({.seed = seed, .eagerness = Eagerness::kMixed});
    app.set(app.a, 1);
    values.insert(app.value());
  }
  CHECK(values == std::set<int>{-1, 1});
}

TEST_CASE("events give times that grow with the work") {
  TwoStreams app;
  const hip::Event middle = app.make_event(), end = app.make_event(),
                   untimed = app.make_event(hip::kEventDisableTiming);
  std::byte* const large = app.allocate(1 << 20);
  CHECK(app.hip.hipEventRecord(app.event, app.a) == Error::kSuccess);
  app.set(app.a, 1);
  CHECK(app.hip.hipEventRecord(middle, app.a) == Error::kSuccess);
  CHECK(app.hip.hipMemsetD8Async(large, 1, 1 << 20, app.a) == Error::kSuccess);
  CHECK(app.hip.hipEventRecord(end, app.a) == Error::kSuccess);
  float small_ms = 0, large_ms = 0;
  CHECK(app.hip.hipEventElapsedTime(&small_ms, app.event, middle) == Error::kNotReady);
  app.control.run_all();
  CHECK(app.hip.hipEventElapsedTime(&small_ms, app.event, middle) == Error::kSuccess);
  CHECK(app.hip.hipEventElapsedTime(&large_ms, middle, end) == Error::kSuccess);
  CHECK(small_ms > 0);
  CHECK(large_ms > small_ms);
  CHECK(app.hip.hipEventElapsedTime(&large_ms, untimed, end) == Error::kInvalidHandle);
  CHECK(app.take_finding() == "hipEventElapsedTime: an event that has no time, or one of another device");
  for (const hip::Event event : {middle, end, untimed}) CHECK(app.hip.hipEventDestroy(event) == Error::kSuccess);
  CHECK(app.hip.hipFree(large) == Error::kSuccess);
}

TEST_CASE("unknown handles are findings") {
  TwoStreams app;
  const hip::Stream gone = app.make_stream();
  CHECK(app.hip.hipStreamDestroy(gone) == Error::kSuccess);
  CHECK(app.hip.hipStreamDestroy(gone) == Error::kInvalidHandle);
  CHECK(app.take_finding() == "hipStreamDestroy: a stream that is not there");
  CHECK(app.hip.hipMemsetD32Async(app.word, 1, 1, nullptr) == Error::kInvalidHandle);
  CHECK(app.take_finding() == "hipMemsetD32Async: the null stream, which waits for others");
  CHECK(app.hip.hipEventQuery(reinterpret_cast<hip::Event>(app.a)) == Error::kInvalidHandle);
  CHECK(app.take_finding() == "hipEventQuery: an event that is not there");
  hip::Stream blocking = nullptr;
  CHECK(app.hip.hipStreamCreateWithFlags(&blocking, 0) == Error::kInvalidValue);
  CHECK(app.take_finding() == "hipStreamCreateWithFlags: the stream is one that waits for the null stream");
}

TEST_CASE("destroying a stream with queued commands is a finding") {
  TwoStreams app;
  const hip::Stream stream = app.make_stream();
  app.set(stream, 1);
  CHECK(app.hip.hipStreamDestroy(stream) == Error::kSuccess);
  CHECK(app.take_finding() == "hipStreamDestroy: it has queued commands, and need not wait for them");
  CHECK(app.value() == 1);
}

TEST_CASE("events and streams of different devices may not be mixed") {
  TwoStreams app({.devices = {{}, {}}});
  CHECK(app.hip.hipSetDevice(1) == Error::kSuccess);
  const hip::Stream other = app.make_stream();
  CHECK(app.hip.hipEventRecord(app.event, other) == Error::kInvalidHandle);
  CHECK(app.take_finding() == "hipEventRecord: the event and the stream are of different devices");
  // A stream may wait for an event of another device, though.
  app.set(app.a, 1);
  CHECK(app.hip.hipEventRecord(app.event, app.a) == Error::kSuccess);
  CHECK(app.hip.hipStreamWaitEvent(other, app.event, 0) == Error::kSuccess);
  CHECK(app.hip.hipMemsetD32Async(app.word, 1, 1, other) == Error::kInvalidValue);
  CHECK(app.take_finding() ==
        "hipMemsetD32Async: 4 bytes at " + address_text(app.word) + ": memory of device 0, expected 1");
  app.control.run_all();
  CHECK(app.hip.hipStreamDestroy(other) == Error::kSuccess);
}

}  // namespace
}  // namespace millrace::hip_standin
