// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <doctest/doctest.h>

#include "millrace/hal/transfer.h"
#include "tests/hal/conformance/devices.h"

namespace millrace {

TEST_CASE("device: allocated memory has the size asked for and is used by commands") {
  on_every_device([](TestedDevice& device) {
    for (std::size_t size : {1u, 64u, 1000u}) {
      const auto buffer = device.allocate(size).value();
      REQUIRE(buffer->size_bytes() == size);
      CHECK(buffer->device() == device.raw().id());
      CHECK((buffer->host_address() != nullptr) == device.raw().info().addresses_host_memory);
      ListBuilder b;
      const BindingIndex y = b.output("y", static_cast<std::int64_t>(size));
      b.fill(b.range(y, 0, static_cast<std::int64_t>(size)), 0xab, 1);
      REQUIRE(run_once(device, b, nullptr, {buffer->binding()}).ok());
      std::vector<std::byte> found(size);
      REQUIRE(download(device.raw(), *buffer, found).ok());
      CHECK(std::ranges::all_of(found, [](std::byte byte) { return byte == std::byte{0xab}; }));
    }
  });
}

TEST_CASE("device: an allocation that fails is an error that names its size") {
  on_every_device([](TestedDevice& device) {
    const auto buffer = device.allocate(std::size_t{1} << 63);
    REQUIRE(!buffer.ok());
    CHECK(buffer.status().code() == StatusCode::kResourceExhausted);
    CHECK(buffer.status().message().find("9223372036854775808 bytes") != std::string::npos);
  });
}

TEST_CASE("device: imported memory is read and written in place") {
  on_every_host_memory_device([](TestedDevice& device) {
    std::vector<std::uint32_t> source = {1, 2, 3, 4};
    std::vector<std::uint32_t> destination(4);
    int deleted = 0;
    {
      const auto x = device.raw().import_host(source.data(), 16, [&](void*) { ++deleted; }).value();
      const auto y = device.raw().import_host(destination.data(), 16, [&](void*) { ++deleted; }).value();
      ListBuilder b;
      const BindingIndex in = b.input("x", 16);
      const BindingIndex out = b.output("y", 16);
      b.copy(b.range(in, 0, 16), b.range(out, 0, 16));
      REQUIRE(run_once(device, b, nullptr, {x->binding(), y->binding()}).ok());
      CHECK(deleted == 0);
    }
    CHECK(deleted == 2);
    CHECK(destination == source);
  });
}

TEST_CASE("device: a binding may be longer than declared; the bytes beyond stay untouched") {
  on_every_device([](TestedDevice& device) {
    std::vector<std::uint8_t> memory(32, 0x11);
    ListBuilder b;
    const BindingIndex y = b.output("y", 16);
    b.fill(b.range(y, 0, 16), 0xee, 1);
    REQUIRE(run_once(device, b, nullptr, {bind(memory)}).ok());
    CHECK(std::all_of(memory.begin(), memory.begin() + 16, [](auto byte) { return byte == 0xee; }));
    CHECK(std::all_of(memory.begin() + 16, memory.end(), [](auto byte) { return byte == 0x11; }));
  });
}

}  // namespace millrace
