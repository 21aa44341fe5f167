// SPDX-License-Identifier: Apache-2.0
// Pinned memory of the host, the driver's and the application's.
#include <atomic>
#include <span>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/hal/transfer.h"
#include "tests/hal/conformance/replay.h"
#include "tests/hip_standin/standin.h"

namespace millrace {
namespace {

using W = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("hip: a block that a failed read back may still write is not used again before that has ended") {
  for (const char* entry : {"hipEventQuery", "hipEventRecord"}) {
    CAPTURE(entry);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(seed);
      const HipStandin standin({.seed = seed});
      const auto device = standin.open({.num_streams = 1}).value();
      constexpr std::size_t kWords = 1024;
      const Words from(*device, W(kWords, 7)), to(*device, W(kWords));
      W back(kWords);
      standin.control.fail_calls(entry, 1, hip::Error::kUnknown);
      CHECK(device->read_back(*from.buffer, 0, std::as_writable_bytes(std::span(back))).message() ==
            "read back: " + std::string(entry) +
                " failed with hipErrorUnknown; please report it, with the versions of runtime and kernel driver");
      const W nines(kWords, 9);  // uploaded through a block of the same size
      REQUIRE(upload(*device, *to.buffer, std::as_bytes(std::span(nines))).ok());
      CHECK(to.read() == nines);
    }
  }
}

TEST_CASE("hip: a device that cannot tell the end of a read back is lost, because its block may still be written") {
  for (const char* entry : {"hipEventQuery", "hipEventRecord"}) {
    CAPTURE(entry);
    HipStandin standin;
    {
      const auto device = standin.open({.num_streams = 1}).value();
      const Words from(*device, W(1024, 7));
      W back(1024);
      standin.control.fail_calls(entry, 1, hip::Error::kUnknown, 2);
      (void)device->read_back(*from.buffer, 0, std::as_writable_bytes(std::span(back)));
      CHECK(device->allocate(64).status().message() ==
            "device 'hip:0' is lost: read back: " + std::string(entry) +
                " failed with hipErrorUnknown; please report it, with the versions of runtime and kernel driver");
    }
    standin.num_quarantined = standin.control.live_objects().size();
    CHECK(standin.num_quarantined > 0);
  }
}

TEST_CASE("hip: pinning 0 bytes is refused") {
  const HipStandin standin;
  const Status status = standin.open().value()->pin_host({}).status();
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK(status.message() == "pin: 0 bytes of host memory, expected at least 1");
}

TEST_CASE("hip: pinned memory cannot be pinned again, in whole or in part") {
  const HipStandin standin;
  const auto device = standin.open().value();
  W words(2048);
  const auto bytes = std::as_writable_bytes(std::span(words));
  auto pin = device->pin_host(bytes).value();
  for (const auto& again : {bytes, bytes.first(4096)}) {
    const Status status = device->pin_host(again).status();
    CHECK(status.code() == StatusCode::kFailedPrecondition);
    CHECK(status.message() ==
          "pin: " + std::to_string(again.size()) +
              " bytes of host memory: hipHostRegister failed with hipErrorHostMemoryAlreadyRegistered; part of the "
              "memory is already pinned: keep that pin, or drop it once the work that uses it has ended");
  }
  pin.reset();
  CHECK(device->pin_host(bytes).ok());
}

TEST_CASE("hip: memory may be pinned and unpinned while others upload it") {
  constexpr std::size_t kWords = 1 << 15;  // so large that HIP is asked about it
  const HipStandin standin({.seed = 3, .eagerness = hip_standin::Eagerness::kMixed});
  const auto device = standin.open().value();
  const Words to(*device, W(kWords));
  W words(kWords, 5);
  std::atomic<bool> is_done = false;
  std::thread other([&] {
    // Refused while an upload keeps the pin before.
    while (!is_done) (void)device->pin_host(std::as_writable_bytes(std::span(words)));
  });
  for (int i = 0; i < 1000; ++i) CHECK(upload(*device, *to.buffer, std::as_bytes(std::span(words))).message() == "");
  is_done = true;
  other.join();
  CHECK(to.read() == words);
}

}  // namespace millrace
