// SPDX-License-Identifier: Apache-2.0
// Loading code objects that are damaged, and launching many workgroups.
#include <algorithm>
#include <array>

#include <doctest/doctest.h>

#include "tests/isa/assembled.h"

namespace millrace::isa::test {
namespace {

/// Why the code cannot be loaded.
std::string refusal_of(MachineCode code, StatusCode expected) {
  const Status status = load_program(std::move(code)).status();
  CHECK(status.code() == expected);
  return std::string(status.message());
}

}  // namespace

TEST_CASE("isa launch: a kernel without instructions is refused") {
  MachineCode code = assemble({});
  code.kernels.front().instructions.clear();
  CHECK(refusal_of(code, StatusCode::kDataLoss) == "kernel 'kernel' for gfx1100: it has no instructions");
}

TEST_CASE("isa launch: a relocation outside of the object is refused") {
  MachineCode code = assemble({.text = "s_nop 0\ns_nop 0"});  // 12 bytes
  const auto refusal_at = [&](std::uint64_t address) {
    code.relocations = {{.address = address}};
    return refusal_of(code, StatusCode::kDataLoss);
  };
  CHECK(refusal_at(5) == "code object: a relocation at 0x5 is outside the object");
  CHECK(refusal_at(12) == "code object: a relocation at 0xc is outside the object");
  CHECK(refusal_at(UINT64_MAX - 3) == "code object: a relocation at 0xfffffffffffffffc is outside the object");
  code.relocations = {{.address = 4}};
  CHECK(load_program(code).ok());
  code = assemble({});  // 4 bytes
  CHECK(refusal_at(0) == "code object: a relocation at 0x0 is outside the object");
}

TEST_CASE("isa launch: the number of workgroups needs no memory") {
  const auto program = load_program(assemble({})).value();
  const std::array<std::byte, 16> arguments = {};
  for (const std::uint64_t seed : {0u, 1u}) {
    const Launch launch{.num_groups = 4'000'000'000, .arguments = arguments, .seed = seed, .max_wave_instructions = 10};
    const Status status = run_kernel(*program->find("kernel"), launch).status();
    CHECK(status.code() == StatusCode::kResourceExhausted);
    const std::string message(status.message());
    CHECK(message.starts_with("at 0x0, s_endpgm: workgroup "));
    CHECK(message.ends_with(", wave 0: the dispatch has executed 10 instructions and still runs; it may never end"));
    if (seed == 0) CHECK(message.starts_with("at 0x0, s_endpgm: workgroup 10, "));
  }
}

TEST_CASE("isa launch: with a seed each workgroup runs once as well") {
  constexpr std::uint32_t kNumGroups = 70'000;  // more than a block of the order
  std::vector<Words> buffers = {{std::vector<std::uint32_t>(kNumGroups)}};
  const AssemblyRun result = run({.workgroup_size = 1, .text = R"(
    s_load_b64 s[4:5], s[0:1], 0x0
    v_mov_b32_e32 v1, 1
    v_mov_b32_e32 v2, s2
    v_lshlrev_b32_e32 v2, 2, v2
    s_waitcnt lgkmcnt(0)
    global_atomic_add_u32 v2, v1, s[4:5])"},
                                 buffers, kNumGroups, true, 7);
  CHECK(result.status.message() == "");
  CHECK(result.counts.num_groups == kNumGroups);
  CHECK(std::ranges::count(buffers[0].words, 1u) == kNumGroups);
}

}  // namespace millrace::isa::test
