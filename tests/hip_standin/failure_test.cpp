// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "tests/hip_standin/application.h"

namespace millrace::hip_standin {
namespace {

using hip::Error;

TEST_CASE("the call that a test selects fails, and has no effect") {
  Application app;
  app.control.fail_calls("hipMalloc", 2, Error::kOutOfMemory);
  std::byte* const first = app.allocate(4);
  CHECK_FALSE(app.control.have_failed());
  void* second = nullptr;
  CHECK(app.hip.hipMalloc(&second, 4) == Error::kOutOfMemory);
  CHECK(app.control.have_failed());
  std::byte* const third = app.allocate(4);
  CHECK(app.hip.hipFree(first) == Error::kSuccess);
  CHECK(app.hip.hipFree(third) == Error::kSuccess);
}

TEST_CASE("several calls of any entry may fail") {
  Application app;
  app.control.fail_calls("", 2, Error::kUnknown, 2);
  int number = 0;
  CHECK(app.hip.hipGetDeviceCount(&number) == Error::kSuccess);
  CHECK(app.hip.hipSetDevice(0) == Error::kUnknown);
  CHECK(app.hip.hipRuntimeGetVersion(&number) == Error::kUnknown);
  CHECK(app.hip.hipRuntimeGetVersion(&number) == Error::kSuccess);
}

TEST_CASE("a failing release still releases") {
  Application app;
  for (const std::string_view entry : {"hipFree", "hipEventDestroy", "hipStreamDestroy", "hipHostFree"}) {
    app.control.fail_calls(entry, 1, Error::kUnknown);
  }
  const hip::Stream stream = app.make_stream();
  CHECK(app.hip.hipFree(app.allocate(4)) == Error::kUnknown);
  CHECK(app.hip.hipEventDestroy(app.make_event()) == Error::kUnknown);
  CHECK(app.hip.hipStreamDestroy(stream) == Error::kUnknown);
  CHECK(app.hip.hipHostFree(app.pin<int>(1).data()) == Error::kUnknown);
  CHECK(app.control.have_failed());
}

TEST_CASE("a call may be left out") {
  Application app;
  const hip::Stream stream = app.make_stream();
  std::byte* const memory = app.allocate(4);
  app.control.fail_calls("hipMemsetD32Async", 1, Error::kSuccess);
  CHECK(app.hip.hipMemsetD32Async(memory, 7, 1, stream) == Error::kSuccess);
  app.control.run_all();
  CHECK(app.peek<int>(memory) == -1);
  CHECK(app.hip.hipFree(memory) == Error::kSuccess);
  CHECK(app.hip.hipStreamDestroy(stream) == Error::kSuccess);
}

TEST_CASE("a launch failure that a test asks for loses the device") {
  Application app({.devices = {{}, {}}});
  CHECK(app.hip.hipSetDevice(1) == Error::kSuccess);
  app.control.fail_calls("hipRuntimeGetVersion", 1, Error::kLaunchFailure);
  int version = 0;
  CHECK(app.hip.hipRuntimeGetVersion(&version) == Error::kLaunchFailure);
  void* memory = nullptr;
  CHECK(app.hip.hipMalloc(&memory, 4) == Error::kLaunchFailure);
  CHECK(app.hip.hipSetDevice(0) == Error::kSuccess);
  CHECK(app.hip.hipFree(app.allocate(4)) == Error::kSuccess);
}

TEST_CASE("calls are recorded") {
  Application app({.devices = {{}, {}}});
  app.control.fail_calls("hipMemsetD32Async", 1, Error::kUnknown);
  CHECK(app.hip.hipSetDevice(1) == Error::kSuccess);
  const hip::Stream stream = app.make_stream();
  std::byte* const memory = app.allocate(64);
  CHECK(app.hip.hipMemsetD32Async(memory, 0, 16, stream) == Error::kUnknown);
  CHECK(app.hip.hipMemsetD32Async(memory, 0, 15, stream) == Error::kSuccess);
  const hip::Event event = app.make_event();
  CHECK(app.hip.hipEventRecord(event, stream) == Error::kSuccess);
  CHECK(app.hip.hipEventDestroy(event) == Error::kSuccess);
  const std::vector<Call> calls = app.control.calls();
  REQUIRE(calls.size() == 8);
  CHECK(calls[1].entry == "hipStreamCreateWithFlags");
  CHECK(calls[1].stream == 1);
  CHECK(calls[2].entry == "hipMalloc");
  CHECK(calls[2].device == 1);
  CHECK(calls[2].bytes == 64);
  CHECK(calls[3].is_injected);
  CHECK(calls[3].result == Error::kUnknown);
  CHECK(calls[4].stream == 1);
  CHECK(calls[4].device == 1);
  CHECK(calls[4].bytes == 60);
  CHECK_FALSE(calls[4].is_injected);
  CHECK(calls[6].event == 1);
  CHECK(app.control.num_calls("hipMemsetD32Async") == 2);
  CHECK(app.control.num_calls("") == 8);
  app.control.clear_calls();
  CHECK(app.control.num_calls("") == 0);
  app.control.run_all();
  CHECK(app.hip.hipFree(memory) == Error::kSuccess);
  CHECK(app.hip.hipStreamDestroy(stream) == Error::kSuccess);
}

TEST_CASE("a lost device reports it at every call, and accepts releases") {
  Application app({.devices = {{}, {}}});
  const hip::Stream stream = app.make_stream();
  const hip::Event event = app.make_event();
  std::byte* const memory = app.allocate(4);
  CHECK(app.hip.hipMemsetD32Async(memory, 1, 1, stream) == Error::kSuccess);
  CHECK(app.hip.hipEventRecord(event, stream) == Error::kSuccess);
  app.control.lose_device(0);
  void* pointer = nullptr;
  std::size_t bytes = 0;
  hip::Stream another = nullptr;
  hip::Event another_event = nullptr;
  CHECK(app.hip.hipMalloc(&pointer, 4) == Error::kLaunchFailure);
  CHECK(app.hip.hipHostMalloc(&pointer, 4, hip::kHostMallocDefault) == Error::kLaunchFailure);
  CHECK(app.hip.hipMemGetInfo(&bytes, &bytes) == Error::kLaunchFailure);
  CHECK(app.hip.hipStreamCreateWithFlags(&another, hip::kStreamNonBlocking) == Error::kLaunchFailure);
  CHECK(app.hip.hipEventCreateWithFlags(&another_event, 0) == Error::kLaunchFailure);
  CHECK(app.hip.hipEventQuery(event) == Error::kLaunchFailure);
  CHECK(app.hip.hipEventRecord(event, stream) == Error::kLaunchFailure);
  CHECK(app.hip.hipStreamWaitEvent(stream, event, 0) == Error::kLaunchFailure);
  CHECK(app.hip.hipMemsetD32Async(memory, 1, 1, stream) == Error::kLaunchFailure);
  CHECK(app.control.num_queued_commands() == 0);
  CHECK(app.hip.hipFree(memory) == Error::kSuccess);
  CHECK(app.hip.hipStreamDestroy(stream) == Error::kSuccess);
  CHECK(app.hip.hipEventDestroy(event) == Error::kSuccess);
  // The other one goes on.
  CHECK(app.hip.hipSetDevice(1) == Error::kSuccess);
  CHECK(app.hip.hipFree(app.allocate(4)) == Error::kSuccess);
}

TEST_CASE("calls that would wait forever for a hanging stream fail and are findings") {
  Application app;
  const hip::Stream stream = app.make_stream();
  const hip::Event event = app.make_event();
  std::byte *const memory = app.allocate(4), *const other = app.allocate(4);
  const auto pinned = app.pin<int>(1);
  CHECK(app.hip.hipMemsetD32Async(memory, 1, 1, stream) == Error::kSuccess);
  CHECK(app.hip.hipEventRecord(event, stream) == Error::kSuccess);
  app.control.hang_device(0);
  for (int i = 0; i < 100; ++i) CHECK(app.hip.hipEventQuery(event) == Error::kNotReady);
  CHECK(app.hip.hipFree(other) == Error::kUnknown);
  CHECK(app.take_finding() == "hipFree: would never return: a stream hangs");
  CHECK(app.hip.hipHostFree(pinned.data()) == Error::kUnknown);
  CHECK(app.take_finding() == "hipHostFree: would never return: a stream hangs");
  CHECK(app.hip.hipStreamDestroy(stream) == Error::kUnknown);
  CHECK(app.control.take_findings() ==
        std::vector<std::string>{"hipStreamDestroy: it has queued commands, and need not wait for them",
                                 "hipStreamDestroy: would never return: a stream hangs"});
  CHECK(app.control.live_objects().size() == 5);
  app.control.lose_device(0);
  for (std::byte* each : {memory, other}) CHECK(app.hip.hipFree(each) == Error::kSuccess);
  CHECK(app.hip.hipHostFree(pinned.data()) == Error::kSuccess);
  CHECK(app.hip.hipStreamDestroy(stream) == Error::kSuccess);
  CHECK(app.hip.hipEventDestroy(event) == Error::kSuccess);
}

TEST_CASE("the launch that a test selects never ends") {
  Application app;
  const hip::Stream stream = app.make_stream();
  const StoreKernel kernel = load_store(app);
  std::byte* const memory = app.allocate(8);
  app.control.hang_launch(2);
  for (int i = 1; i <= 3; ++i) {
    CHECK(launch(app, kernel, {.status = memory, .y = memory + 4, .value = i}, stream) == Error::kSuccess);
  }
  app.control.run_all();
  CHECK(app.peek<int>(memory + 4) == 1);
  CHECK(app.control.num_queued_commands() == 2);
  app.control.lose_device(0);
  CHECK(app.hip.hipModuleUnload(kernel.module) == Error::kSuccess);
  CHECK(app.hip.hipFree(memory) == Error::kSuccess);
  CHECK(app.hip.hipStreamDestroy(stream) == Error::kSuccess);
}

TEST_CASE("each thread has a current device") {
  Application app({.devices = {{}, {}}});
  CHECK(app.hip.hipSetDevice(1) == Error::kSuccess);
  int here = -1, there = -1;
  std::thread([&] { app.hip.hipGetDevice(&there); }).join();
  CHECK(app.hip.hipGetDevice(&here) == Error::kSuccess);
  CHECK(here == 1);
  CHECK(there == 0);
}

TEST_CASE("threads queue and wait concurrently") {
  Application app({.seed = 5});
  const auto work = [&app] {
    hip::Stream stream = nullptr;
    hip::Event event = nullptr;
    void* memory = nullptr;
    app.hip.hipStreamCreateWithFlags(&stream, hip::kStreamNonBlocking);
    app.hip.hipEventCreateWithFlags(&event, hip::kEventDisableTiming);
    app.hip.hipMalloc(&memory, 4);
    for (int i = 0; i < 100; ++i) {
      app.hip.hipMemsetD32Async(memory, i, 1, stream);
      app.hip.hipEventRecord(event, stream);
      while (app.hip.hipEventQuery(event) == Error::kNotReady) std::this_thread::yield();
    }
    app.hip.hipFree(memory);
    app.hip.hipEventDestroy(event);
    app.hip.hipStreamDestroy(stream);
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  CHECK(app.control.num_calls("hipMemsetD32Async") == 200);
}

TEST_CASE("the time inside of calls is counted for each thread") {
  Application app;
  const std::uint64_t before = app.control.thread_ns();
  CHECK(app.hip.hipFree(app.allocate(1 << 20)) == Error::kSuccess);
  CHECK(app.control.thread_ns() > before);
  std::uint64_t elsewhere = 1;
  std::thread([&] { elsewhere = app.control.thread_ns(); }).join();
  CHECK(elsewhere == 0);
}

}  // namespace
}  // namespace millrace::hip_standin
