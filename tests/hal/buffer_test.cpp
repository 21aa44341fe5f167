// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <limits>

#include <doctest/doctest.h>

#include "hal/host/host_buffer.h"

namespace millrace {

TEST_CASE("a buffer has its size, is aligned, and can be written to its last byte") {
  for (std::size_t size : {0u, 1u, 63u, 64u, 65u, 4096u, 1000003u}) {
    CAPTURE(size);
    const auto buffer = allocate_host_buffer(size).value();
    CHECK(buffer->size_bytes() == size);
    CHECK(buffer->host_address() != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer->host_address()) % Buffer::kAlignment == 0);
    std::memset(buffer->host_address(), 0x5a, size);
    CHECK(buffer->bytes().size() == size);
    CHECK(std::ranges::all_of(buffer->bytes(), [](std::byte byte) { return byte == std::byte{0x5a}; }));
  }
}

TEST_CASE("an allocation that fails names its size") {
  for (std::size_t size :
       {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() - 63, std::size_t{1} << 63}) {
    const auto buffer = allocate_host_buffer(size);
    REQUIRE(!buffer.ok());
    CHECK(buffer.status().code() == StatusCode::kResourceExhausted);
    CHECK(buffer.status().message() == "buffer: " + std::to_string(size) +
                                           " bytes of host memory cannot be allocated; free memory, or ask for less");
  }
}

TEST_CASE("imported memory is used in place, and its deleter runs once, with the last owner") {
  int deleted = 0;
  float values[3] = {1, 2, 3};
  auto first = import_host_buffer(values, sizeof(values), [&](void* data) {
    CHECK(data == values);
    ++deleted;
  });
  auto second = first;
  CHECK(first->host_address() == values);
  CHECK(first->bytes().size() == 12);
  first.reset();
  CHECK(deleted == 0);
  second.reset();
  CHECK(deleted == 1);
}

TEST_CASE("memory imported without a deleter stays its owner's") {
  int value = 7;
  import_host_buffer(&value, sizeof(value)).reset();
  CHECK(value == 7);
}

}  // namespace millrace
