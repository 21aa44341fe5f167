// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/application.h"

namespace millrace::hip_standin {
namespace {

using hip::CopyKind;
using hip::Error;

struct Copies : Application {
  explicit Copies(const Options& options = {}) : Application(options) {}
  ~Copies() {
    control.run_all();
    CHECK(hip.hipStreamDestroy(stream) == Error::kSuccess);
    CHECK(hip.hipFree(memory) == Error::kSuccess);
    CHECK(hip.hipHostFree(pinned.data()) == Error::kSuccess);
  }
  Error copy(void* to, const void* from, std::size_t bytes, CopyKind kind) {
    return hip.hipMemcpyAsync(to, from, bytes, kind, stream);
  }

  hip::Stream stream = make_stream();
  std::byte* memory = allocate(32);
  std::span<int> pinned = pin<int>(8);
};

TEST_CASE("a copy reads and writes memory of the host when it runs") {
  Copies app;
  app.pinned[0] = 1;
  CHECK(app.copy(app.memory, app.pinned.data(), 4, CopyKind::kHostToDevice) == Error::kSuccess);
  app.pinned[0] = 2;
  CHECK(app.copy(app.memory + 4, app.memory, 4, CopyKind::kDeviceToDevice) == Error::kSuccess);
  CHECK(app.copy(&app.pinned[1], app.memory + 4, 4, CopyKind::kDeviceToHost) == Error::kSuccess);
  CHECK(app.pinned[1] == -1);
  app.control.run_all();
  CHECK(app.pinned[1] == 2);
}

TEST_CASE("fills write values of one, two and four bytes") {
  Copies app;
  CHECK(app.hip.hipMemsetD32Async(app.memory, 0x01020304, 2, app.stream) == Error::kSuccess);
  CHECK(app.hip.hipMemsetD16Async(app.memory + 8, 0x0506, 2, app.stream) == Error::kSuccess);
  CHECK(app.hip.hipMemsetD8Async(app.memory + 12, 7, 2, app.stream) == Error::kSuccess);
  app.control.run_all();
  CHECK(app.peek<std::uint64_t>(app.memory) == 0x0102030401020304);
  CHECK(app.peek<std::uint64_t>(app.memory + 8) == 0xffff070705060506);
  CHECK(app.hip.hipMemsetD32Async(app.memory + 2, 1, 1, app.stream) == Error::kInvalidValue);
}

TEST_CASE("an asynchronous copy of pageable memory is refused") {
  Copies app;
  int word = 0;
  CHECK(app.copy(app.memory, &word, 4, CopyKind::kHostToDevice) == Error::kInvalidValue);
  CHECK(app.take_finding() == "hipMemcpyAsync: from 4 bytes at " + address_text(&word) +
                                  ": memory of the host that is neither pinned nor registered");
  CHECK(app.hip.hipHostRegister(&word, 4, hip::kHostRegisterDefault) == Error::kSuccess);
  CHECK(app.copy(app.memory, &word, 4, CopyKind::kHostToDevice) == Error::kSuccess);
  app.control.run_all();
  CHECK(app.hip.hipHostUnregister(&word) == Error::kSuccess);
}

TEST_CASE("a copy of the wrong kind is a finding") {
  Copies app;
  CHECK(app.copy(app.memory, app.pinned.data(), 4, CopyKind::kDeviceToDevice) == Error::kInvalidValue);
  CHECK(app.take_finding() == "hipMemcpyAsync: from 4 bytes at " + address_text(app.pinned.data()) +
                                  ": memory of the host, expected a device's");
  CHECK(app.copy(app.memory, app.memory, 4, CopyKind::kDeviceToHost) == Error::kInvalidValue);
  CHECK(app.take_finding() ==
        "hipMemcpyAsync: to 4 bytes at " + address_text(app.memory) + ": memory of a device, expected the host's");
}

TEST_CASE("copies and fills past the end of an allocation are findings") {
  Copies app;
  CHECK(app.copy(app.memory + 28, app.pinned.data(), 8, CopyKind::kHostToDevice) == Error::kInvalidValue);
  CHECK(app.take_finding() == "hipMemcpyAsync: to 8 bytes at " + address_text(app.memory + 28) +
                                  ": they reach past the end of an allocation of 32 bytes");
  CHECK(app.copy(app.memory, &app.pinned[7], 8, CopyKind::kHostToDevice) == Error::kInvalidValue);
  CHECK(app.take_finding() == "hipMemcpyAsync: from 8 bytes at " + address_text(&app.pinned[7]) +
                                  ": memory of the host that is neither pinned nor registered");
  CHECK(app.hip.hipMemsetD8Async(app.memory + 32, 0, 1, app.stream) == Error::kInvalidValue);
  CHECK(app.take_finding() == "hipMemsetD8Async: 1 bytes at " + address_text(app.memory + 32) +
                                  ": they reach past the end of an allocation of 32 bytes");
  CHECK(app.copy(app.memory + 32, app.pinned.data(), 0, CopyKind::kHostToDevice) == Error::kSuccess);
}

TEST_CASE("releasing memory that queued commands use is a finding") {
  Copies app;
  std::byte* const other = app.allocate(4);
  CHECK(app.hip.hipMemsetD8Async(other, 0, 4, app.stream) == Error::kSuccess);
  CHECK(app.hip.hipFree(other) == Error::kSuccess);
  CHECK(app.take_finding() == "hipFree: 4 bytes at " + address_text(other) + ": stream 1 uses them");
  const auto words = app.pin<int>(1);
  CHECK(app.copy(app.memory, words.data(), 4, CopyKind::kHostToDevice) == Error::kSuccess);
  CHECK(app.hip.hipHostFree(words.data()) == Error::kSuccess);
  CHECK(app.take_finding() == "hipHostFree: 4 bytes at " + address_text(words.data()) + ": stream 1 uses them");
}

TEST_CASE("a release waits for other work of the device, and that is counted") {
  Copies app;
  std::byte* const other = app.allocate(4);
  CHECK(app.hip.hipMemsetD32Async(app.memory, 5, 1, app.stream) == Error::kSuccess);
  CHECK(app.hip.hipFree(other) == Error::kSuccess);
  CHECK(app.control.num_hidden_waits() == 1);
  CHECK(app.peek<int>(app.memory) == 5);
}

}  // namespace
}  // namespace millrace::hip_standin
