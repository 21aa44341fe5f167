// SPDX-License-Identifier: Apache-2.0
#include "hal/cpu/code_loader.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace millrace {
namespace {

/// What the system lets this process do at the address: "r-xp"; empty when nothing is mapped there.
std::string permissions_at(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::size_t dash = 0;
    const std::uintptr_t begin = std::stoull(line, &dash, 16);
    std::size_t length = 0;
    const std::uintptr_t end = std::stoull(line.substr(dash + 1), &length, 16);
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (begin <= at && at < end) return line.substr(dash + 1 + length + 1, 4);
  }
  return "";
}

/// mov eax, value; ret - then zeros.
std::vector<std::byte> returns(std::uint8_t value, std::size_t size) {
  std::vector<std::byte> bytes(size);
  const int code[] = {0xb8, value, 0, 0, 0, 0xc3};
  for (std::size_t i = 0; i < 6; ++i) bytes[i] = static_cast<std::byte>(code[i]);
  return bytes;
}

int call(const MappedCode& code, std::size_t offset = 0) {
  return reinterpret_cast<int (*)()>(reinterpret_cast<std::uintptr_t>(code.data() + offset))();
}

}  // namespace

TEST_CASE("code is readable and executable, the constants after it are readable, and nothing is writable") {
  const auto code = MappedCode::map(returns(7, 3 * 4096 + 5), 2 * 4096).value();
  CHECK(permissions_at(code.data()) == "r-xp");
  CHECK(permissions_at(code.data() + 2 * 4096 - 1) == "r-xp");
  CHECK(permissions_at(code.data() + 2 * 4096) == "r--p");
  CHECK(permissions_at(code.data() + 3 * 4096 + 5) == "r--p");
  CHECK(call(code) == 7);
}

TEST_CASE("an image of code alone is executable to its end, and a jump past it stops") {
  for (std::size_t size : {6u, 4095u, 4096u, 4097u}) {
    CAPTURE(size);
    const auto code = MappedCode::map(returns(9, size), size).value();
    CHECK(permissions_at(code.data() + size - 1) == "r-xp");
    CHECK(call(code) == 9);
    if (size % 4096 != 0) CHECK(code.data()[size] == std::byte{0xcc});
  }
}

TEST_CASE("blocks share a mapping: code side by side, constants on pages of their own, the same memory once") {
  const auto small = returns(1, 10), large = returns(2, 5000), with_constants = returns(3, 4096 + 8),
             more_constants = returns(4, 2 * 4096 + 1);
  const std::vector<CodeBlock> blocks = {
      {with_constants, 4096}, {small, 10}, {large, 5000}, {small, 10}, {more_constants, 2 * 4096}};
  std::vector<std::size_t> offsets = {77};  // is appended to
  const auto code = MappedCode::map(blocks, offsets).value();
  CHECK(offsets == std::vector<std::size_t>{77, 2 * 4096, 0, 64, 0, 4 * 4096});
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    CAPTURE(i);
    const std::byte* begin = code.data() + offsets[i + 1];
    CHECK(call(code, offsets[i + 1]) == std::vector<int>{3, 1, 2, 1, 4}[i]);
    CHECK(permissions_at(begin + blocks[i].code_bytes - 1) == "r-xp");
    CHECK(std::equal(blocks[i].bytes.begin(), blocks[i].bytes.end(), begin));
    if (blocks[i].code_bytes < blocks[i].bytes.size()) CHECK(permissions_at(begin + blocks[i].code_bytes) == "r--p");
  }
  CHECK(code.data()[10] == std::byte{0xcc});
}

TEST_CASE("no blocks need no mapping") {
  std::vector<std::size_t> offsets;
  CHECK(MappedCode::map({}, offsets).value().data() == nullptr);
}

TEST_CASE("code is unmapped with its owner, once") {
  auto code = MappedCode::map(returns(1, 4096), 4096).value();
  const std::byte* const address = code.data();
  {
    const MappedCode moved = std::move(code);
    CHECK(moved.data() == address);
    CHECK(call(moved) == 1);
  }
  CHECK(permissions_at(address) != "r-xp");
}

TEST_CASE("code taken over by assignment keeps working when its former owner goes") {
  auto first = MappedCode::map(returns(1, 4096), 4096).value();
  {
    auto second = MappedCode::map(returns(2, 4096), 4096).value();
    first = std::move(second);
  }
  CHECK(call(first) == 2);
}

}  // namespace millrace
