// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hip_standin/application.h"

namespace millrace::hip_standin {
namespace {

using hip::Error;

/// Whether a child process that does this dies of it.
template <class Deed>
bool kills(Deed deed) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    deed();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

TEST_CASE("the host can neither read nor write memory of a device") {
  Application app;
  auto* const memory = static_cast<volatile std::byte*>(app.allocate(64));
  CHECK(kills([&] { (void)memory[0]; }));
  CHECK(kills([&] { memory[63] = std::byte{1}; }));
  CHECK_FALSE(kills([] {}));
  CHECK(app.hip.hipFree(const_cast<std::byte*>(memory)) == Error::kSuccess);
  CHECK(kills([&] { (void)memory[0]; }));
}

TEST_CASE("the host may use pinned memory until it is released") {
  Application app;
  const auto words = app.pin<volatile int>(4);
  words[3] = 7;
  CHECK(words[3] == 7);
  CHECK(app.hip.hipHostFree(const_cast<int*>(words.data())) == Error::kSuccess);
  CHECK(kills([&] { words[3] = 8; }));
}

TEST_CASE("new memory holds garbage") {
  Application app;
  std::byte* const memory = app.allocate(5000);
  const auto words = app.pin<std::uint32_t>(1);
  CHECK(app.peek<std::uint32_t>(memory + 4996) == 0xffff'ffff);
  CHECK(words[0] == 0xffff'ffff);
  CHECK(app.hip.hipFree(memory) == Error::kSuccess);
  CHECK(app.hip.hipHostFree(words.data()) == Error::kSuccess);
}

TEST_CASE("addresses are never reused") {
  Application app;
  std::byte* const first = app.allocate(64);
  CHECK(app.hip.hipFree(first) == Error::kSuccess);
  std::byte* const second = app.allocate(64);
  CHECK(second != first);
  CHECK(app.hip.hipFree(second) == Error::kSuccess);
}

TEST_CASE("a device has as much memory as it was given") {
  Application app({.devices = {{.memory_bytes = 64 << 10}, {.memory_bytes = 8 << 10}}});
  const auto check_info = [&](std::size_t expected_free, std::size_t expected_total) {
    std::size_t free_bytes = 0, total_bytes = 0;
    CHECK(app.hip.hipMemGetInfo(&free_bytes, &total_bytes) == Error::kSuccess);
    CHECK(free_bytes == expected_free);
    CHECK(total_bytes == expected_total);
  };
  std::byte* const large = app.allocate(60 << 10);
  check_info(4 << 10, 64 << 10);
  void* more = &app;
  CHECK(app.hip.hipMalloc(&more, 8 << 10) == Error::kOutOfMemory);
  CHECK(app.hip.hipMalloc(&more, SIZE_MAX) == Error::kOutOfMemory);
  CHECK(more == nullptr);
  std::byte* const rest = app.allocate(1);  // a page
  check_info(0, 64 << 10);
  CHECK(app.hip.hipSetDevice(1) == Error::kSuccess);
  check_info(8 << 10, 8 << 10);
  CHECK(app.hip.hipFree(large) == Error::kSuccess);
  CHECK(app.hip.hipFree(rest) == Error::kSuccess);
  CHECK(app.hip.hipSetDevice(0) == Error::kSuccess);
  check_info(64 << 10, 64 << 10);
}

TEST_CASE("releasing an unknown address is a finding") {
  Application app;
  std::byte* const memory = app.allocate(64);
  CHECK(app.hip.hipFree(memory + 1) == Error::kInvalidValue);
  CHECK(app.take_finding() == "hipFree: " + address_text(memory + 1) + ": no live allocation of hipMalloc begins here");
  CHECK(app.hip.hipFree(memory) == Error::kSuccess);
  CHECK(app.hip.hipFree(memory) == Error::kInvalidValue);
  CHECK(app.take_finding() == "hipFree: " + address_text(memory) + ": no live allocation of hipMalloc begins here");
  int word = 0;
  CHECK(app.hip.hipHostFree(&word) == Error::kInvalidValue);
  CHECK(app.take_finding() == "hipHostFree: " + address_text(&word) + ": no memory that it releases begins here");
  CHECK(app.hip.hipFree(nullptr) == Error::kSuccess);
  CHECK(app.hip.hipHostFree(nullptr) == Error::kSuccess);
}

TEST_CASE("memory of the host is registered once") {
  Application app;
  std::vector<int> words(8);
  CHECK(app.hip.hipHostRegister(words.data(), 32, hip::kHostRegisterDefault) == Error::kSuccess);
  CHECK(app.hip.hipHostRegister(&words[7], 4, hip::kHostRegisterDefault) == Error::kHostMemoryAlreadyRegistered);
  CHECK(app.control.live_objects() ==
        std::vector<std::string>{"32 registered bytes of the host at " + address_text(words.data())});
  CHECK(app.hip.hipHostUnregister(words.data()) == Error::kSuccess);
  CHECK(app.hip.hipHostUnregister(words.data()) == Error::kHostMemoryNotRegistered);
  CHECK(app.take_finding() ==
        "hipHostUnregister: " + address_text(words.data()) + ": no memory that it releases begins here");
}

TEST_CASE("the runtime reports who owns the memory of an address") {
  for (const int version : {50'220'730, 60'342'131}) {
    CAPTURE(version);
    Application app({.devices = {{}, {}}, .version = version});
    CHECK(app.hip.hipSetDevice(1) == Error::kSuccess);
    std::byte* const memory = app.allocate(64);
    hip::PointerAttributes attributes{};
    CHECK(app.hip.hipPointerGetAttributes(&attributes, memory + 8) == Error::kSuccess);
    CHECK(attributes.device == 1);
    CHECK(attributes.device_pointer == memory + 8);
    CHECK(attributes.host_pointer == nullptr);
    int word = 0;
    const Error unknown = app.hip.hipPointerGetAttributes(&attributes, &word);
    CHECK(unknown == (version < 60'000'000 ? Error::kInvalidValue : Error::kSuccess));
    CHECK(attributes.device_pointer == nullptr);
    CHECK(app.hip.hipFree(memory) == Error::kSuccess);
  }
}

TEST_CASE("memory that was not released is named") {
  Application app;
  const hip::Stream stream = app.make_stream();
  const hip::Event event = app.make_event();
  std::byte* const memory = app.allocate(64);
  const auto pinned = app.pin<std::byte>(8);
  CHECK(app.control.live_objects() ==
        std::vector<std::string>{"64 bytes of device 0 at " + address_text(memory),
                                 "8 pinned bytes of the host at " + address_text(pinned.data()), "stream 1",
                                 "event 1"});
  CHECK(app.hip.hipHostFree(pinned.data()) == Error::kSuccess);
  CHECK(app.hip.hipFree(memory) == Error::kSuccess);
  CHECK(app.hip.hipEventDestroy(event) == Error::kSuccess);
  CHECK(app.hip.hipStreamDestroy(stream) == Error::kSuccess);
}

}  // namespace
}  // namespace millrace::hip_standin
