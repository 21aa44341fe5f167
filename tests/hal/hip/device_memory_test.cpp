// SPDX-License-Identifier: Apache-2.0
// Device memory runs out: which memory is given back first, and what the message says.
#include <string>

#include <doctest/doctest.h>

#include "tests/hip_standin/standin.h"

namespace millrace {

TEST_CASE("hip: a failed allocation reports the bytes requested and the bytes free") {
  for (const bool has_pools : {true, false}) {
    HipStandin standin({.devices = {{.memory_bytes = 1 << 20, .has_memory_pools = has_pools}}});
    const auto device = standin.open().value();
    const auto half = device->allocate(1 << 19).value();
    const Status status = device->allocate((1 << 19) + 1).status();
    CHECK(status.code() == StatusCode::kResourceExhausted);
    CHECK(status.message() ==
          std::string("allocate: 524289 bytes of device 'hip:0', which has 524288 of 1048576 free: ") +
              (has_pools ? "hipMallocFromPoolAsync" : "hipMalloc") +
              " failed with hipErrorOutOfMemory; free memory, or ask for less");
    CHECK(device->allocate(1 << 18).ok());
  }
}

TEST_CASE("hip: an allocation of nearly all free memory does not fail because it is rounded up") {
  constexpr std::size_t kMiB = 1 << 20;
  for (const bool has_pools : {true, false}) {
    HipStandin standin({.devices = {{.memory_bytes = 39 * kMiB, .has_memory_pools = has_pools}}});
    const auto device = standin.open().value();
    CHECK(device->allocate(37 * kMiB).status().message() == "");
  }
}

TEST_CASE("hip: cached memory is given back before an allocation fails") {
  HipStandin standin({.devices = {{.memory_bytes = 1 << 20, .has_memory_pools = false}}});
  const auto device = standin.open().value();
  for (const std::size_t size : {100'000u, 120'000u}) CHECK(device->allocate(size).ok());
  CHECK(device->allocate(1 << 20).ok());
}

TEST_CASE("hip: memory whose release is queued is waited for before an allocation fails") {
  HipStandin standin({.devices = {{.memory_bytes = 1 << 20, .pools_wait = false}}});
  const auto device = standin.open().value();
  for (const std::size_t size : {600'000u, 700'000u}) CHECK(device->allocate(size).status().message() == "");
  CHECK(standin.control.num_hidden_waits() == 0);
}

TEST_CASE("hip: memory that is not released in time is reported as used, and the device goes on") {
  HipStandin standin({.devices = {{.memory_bytes = 1 << 20, .pools_wait = false}}});
  const auto device = standin.open().value();
  CHECK(device->allocate(600'000).ok());
  standin.control.hold_commands(true);
  CHECK(device->allocate(700'000).status().code() == StatusCode::kResourceExhausted);
  standin.control.hold_commands(false);
  CHECK(device->allocate(700'000).status().message() == "");
}

}  // namespace millrace
