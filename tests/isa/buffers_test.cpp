// SPDX-License-Identifier: Apache-2.0
// Buffers that lie next to each other in the host's memory, or share it.
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/isa/assembled.h"

namespace millrace::isa::test {
namespace {

/// Runs a kernel of two buffers of 32 words each, at these places of one memory.
std::string mistake_with_buffers(std::string text, std::size_t first, std::size_t second, bool are_apart) {
  std::vector<std::uint32_t> memory(64);
  std::uint64_t arguments[2] = {};
  std::vector<LaunchBuffer> buffers;
  for (const std::size_t place : {first, second}) {
    const auto number = static_cast<std::uint32_t>(buffers.size());
    arguments[number] = reinterpret_cast<std::uint64_t>(memory.data() + place);
    LaunchBuffer buffer{.name = "@" + std::to_string(number), .address = arguments[number], .size_bytes = 128};
    if (are_apart) buffer.argument_offset = 8 * number;
    buffers.push_back(buffer);
  }
  const auto program = load_program(assemble({.workgroup_size = 64, .text = std::move(text)})).value();
  const Launch launch{.num_groups = 1, .arguments = std::as_bytes(std::span(arguments)), .buffers = buffers};
  return std::string(run_kernel(*program->find("kernel"), launch).status().message());
}

}  // namespace

TEST_CASE("isa buffers: an access that leaves its buffer for the next one is a mistake, where buffers are told apart") {
  constexpr const char* kText = R"(
    s_load_b64 s[4:5], s[0:1], 0x0
    v_mov_b32_e32 v2, 0
    s_waitcnt lgkmcnt(0)
    global_load_b32 v1, v2, s[4:5] offset:128
    s_load_b32 s6, s[4:5], 0x80
  )";
  CHECK(mistake_with_buffers(kText, 0, 32, false) == "");
  CHECK(mistake_with_buffers(kText, 0, 32, true) ==
        "at 0xc, global_load_b32 v1, v2, s[4:5] offset:128: workgroup 0, wave 0, lane 0: reads 4 bytes at @0 + 128, "
        "which has 128 bytes");
  CHECK(mistake_with_buffers("s_load_b64 s[4:5], s[0:1], 0x8\ns_waitcnt lgkmcnt(0)\ns_load_b32 s6, s[4:5], -0x4", 0, 32,
                             true) ==
        "at 0x8, s_load_b32 s6, s[4:5], -0x4: workgroup 0, wave 0: reads 4 bytes at @1 - 4, which has 128 bytes");
}

TEST_CASE("isa buffers: buffers that are told apart and share memory race with each other") {
  // Wave 0 loads from @0, wave 1 stores to the same place by @1.
  constexpr const char* kText = R"(
    s_load_b128 s[4:7], s[0:1], 0x0
    v_mov_b32_e32 v2, 4
    v_cmp_gt_u32_e32 vcc_lo, 32, v0
    s_waitcnt lgkmcnt(0)
    s_cbranch_vccz 2
    global_load_b32 v1, v2, s[4:5]
    s_endpgm
    global_store_b32 v2, v2, s[6:7]
  )";
  CHECK(mistake_with_buffers(kText, 0, 32, true) == "");
  CHECK(mistake_with_buffers(kText, 16, 16, true) ==
        "at 0x1c, global_store_b32 v2, v2, s[6:7]: workgroup 0, wave 1, lanes 0 to 31: writes 4 bytes at @0 + 4: races "
        "with wave 0, which read it at 0x14");
}

}  // namespace millrace::isa::test
