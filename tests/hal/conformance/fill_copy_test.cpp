// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include <doctest/doctest.h>

#include "tests/hal/conformance/devices.h"

namespace millrace {

TEST_CASE("device: a fill repeats its pattern, low byte first, and touches nothing else") {
  constexpr std::uint64_t kPattern = 0x8877665544332211;
  on_every_device([&](TestedDevice& device) {
    for (std::uint32_t pattern_bytes : {1u, 2u, 4u, 8u}) {
      for (std::int64_t count : {1, 2, 3, 7, 64, 1001, 5000}) {
        for (std::int64_t offset : {0, 1, 5}) {  // ranges may start anywhere
          const std::int64_t length = count * pattern_bytes;
          const std::uint64_t pattern = pattern_bytes == 8 ? kPattern : kPattern & ((1ull << 8 * pattern_bytes) - 1);
          std::vector<std::uint8_t> memory(static_cast<std::size_t>(offset + length + 9), 0xcc);
          std::vector<std::uint8_t> expected = memory;
          for (std::int64_t i = 0; i < length; ++i) {
            expected[static_cast<std::size_t>(offset + i)] =
                static_cast<std::uint8_t>(kPattern >> 8 * (static_cast<std::uint64_t>(i) % pattern_bytes));
          }
          ListBuilder b;
          const BindingIndex y = b.output("y", offset + length + 9);
          b.fill(b.range(y, offset, length), pattern, pattern_bytes);
          CAPTURE(pattern_bytes);
          CAPTURE(length);
          CAPTURE(offset);
          REQUIRE(run_once(device, b, nullptr, {bind(memory)}).ok());
          CHECK(memory == expected);
        }
      }
    }
  });
}

TEST_CASE("device: a fill with zeros of any pattern size clears") {
  on_every_device([](TestedDevice& device) {
    for (std::uint32_t pattern_bytes : {1u, 2u, 4u, 8u}) {
      std::vector<std::uint8_t> memory(24, 0xff);
      ListBuilder b;
      const BindingIndex y = b.output("y", 24);
      b.fill(b.range(y, 0, 16), 0, pattern_bytes);
      REQUIRE(run_once(device, b, nullptr, {bind(memory)}).ok());
      CHECK(std::accumulate(memory.begin(), memory.begin() + 16, 0) == 0);
      CHECK(memory[16] == 0xff);
    }
  });
}

TEST_CASE("device: a copy moves a range between bindings at any offsets") {
  on_every_device([](TestedDevice& device) {
    std::vector<std::uint8_t> source(100);
    std::iota(source.begin(), source.end(), 0);
    std::vector<std::uint8_t> destination(50, 0xff);
    ListBuilder b;
    const BindingIndex x = b.input("x", 100);
    const BindingIndex y = b.output("y", 50);
    b.copy(b.range(x, 31, 19), b.range(y, 3, 19));
    REQUIRE(run_once(device, b, nullptr, {bind(source), bind(destination)}).ok());
    for (std::size_t i = 0; i < 50; ++i) CHECK(destination[i] == (i >= 3 && i < 22 ? 31 + i - 3 : 0xff));
  });
}

TEST_CASE("device: a copy moves a range within one binding") {
  on_every_device([](TestedDevice& device) {
    std::vector<std::uint16_t> memory = {1, 2, 3, 0, 0, 0};
    ListBuilder b;
    const BindingIndex y = b.output("y", 12);
    b.copy(b.range(y, 0, 6), b.range(y, 6, 6));
    REQUIRE(run_once(device, b, nullptr, {bind(memory)}).ok());
    CHECK(memory == std::vector<std::uint16_t>{1, 2, 3, 1, 2, 3});
  });
}

TEST_CASE("device: the source of a copy is not changed") {
  on_every_device([](TestedDevice& device) {
    std::vector<std::uint64_t> source(1000);
    std::iota(source.begin(), source.end(), 1);
    const std::vector<std::uint64_t> before = source;
    std::vector<std::uint64_t> destination(1000);
    ListBuilder b;
    const BindingIndex x = b.input("x", 8000);
    const BindingIndex y = b.output("y", 8000);
    b.copy(b.range(x, 0, 8000), b.range(y, 0, 8000));
    REQUIRE(run_once(device, b, nullptr, {bind(source), bind(destination)}).ok());
    CHECK(source == before);
    CHECK(destination == before);
  });
}

}  // namespace millrace
