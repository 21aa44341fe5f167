// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include <doctest/doctest.h>

#include "tests/isa/bare_wave.h"

namespace millrace::isa::test {
namespace {

/// A wave whose v0 holds each lane's number, and whose registers are defined.
struct Numbered : BareWave {
  Numbered(const char* gfx, std::uint32_t num_lanes) : BareWave(gfx, num_lanes) {
    for (std::uint32_t i = 0; i < 16; ++i) wave().set_defined(i, wave().machine.all_lanes());
    for (std::uint32_t i = 0; i < num_lanes; ++i) wave().vectors[0].lanes[i] = i;
    set_scalar(kExec, wave().machine.all_lanes());
  }
  void leave_undefined(std::uint32_t vector_register, std::uint32_t lane, std::uint32_t bits = 0x10) {
    LaneWords undefined;
    undefined.lanes[lane] = bits;
    wave().set_undefined(vector_register, std::uint64_t{1} << lane, undefined);
  }
  std::uint32_t lane(std::uint32_t vector_register, std::uint32_t i) {
    return wave().vectors[vector_register].lanes[i];
  }
};

TEST_CASE("a scalar register takes a lane's value, on or off") {
  Numbered wave("gfx942", 64);
  wave.set_scalar(kExec, 0x0100'0000'0000);
  CHECK(wave.run("v_readfirstlane_b32 s7, v0") == "");
  CHECK(wave.scalar(7, 1) == 40);
  wave.set_scalar(kExec, 0);
  CHECK(wave.run("v_readfirstlane_b32 s7, v0") == "");
  CHECK(wave.scalar(7, 1) == 0);
  CHECK(wave.run("v_readlane_b32 s7, v0, 63") == "");
  CHECK(wave.scalar(7, 1) == 63);
  wave.set_scalar(8, 64 + 5, 0, 1);
  CHECK(wave.run("v_readlane_b32 s7, v0, s8") == "");
  CHECK(wave.scalar(7, 1) == 5);
  wave.leave_undefined(0, 5, ~0u);
  CHECK(wave.run("v_readlane_b32 s7, v0, s8") == "undefined data reaches a scalar register");
  CHECK(wave.wave().failing_lanes == 1u << 5);
  wave.set_scalar(9, 0, 1, 1);
  CHECK(wave.run("v_readlane_b32 s7, v1, s9") == "undefined data chooses a lane");
}

TEST_CASE("a lane takes a scalar register's value, on or off") {
  Numbered wave("gfx1030", 32);
  wave.set_scalar(kExec, 0);
  wave.set_scalar(4, 0x1234, 0xf0, 1);
  CHECK(wave.run("v_writelane_b32 v0, s4, 33") == "");
  CHECK(wave.lane(0, 1) == 0x1234);
  CHECK(wave.lane(0, 2) == 2);
  CHECK(wave.wave().undefined_vectors[0].lanes[1] == 0xf0);
  CHECK(wave.run("v_writelane_b32 v0, 7, 1") == "");
  CHECK(wave.lane(0, 1) == 7);
  CHECK(wave.wave().undefined_vectors[0].lanes[1] == 0);
}

TEST_CASE("lanes permute within rows and across pairs of rows") {
  Numbered wave("gfx1100", 64);
  wave.set_scalar(2, 0xfedc'ba98, 0, 1);
  CHECK(wave.run("v_permlanex16_b32 v1, v0, 0x1234567, s2") == "");
  CHECK(wave.run("v_permlane16_b32 v2, v0, 0x1234567, s2") == "");
  for (std::uint32_t i = 0; i < 64; ++i) {
    // 0x1234567 gives lane 0 lane 7, lane 1 lane 6, and so on.
    const std::uint32_t place = i % 16 < 8 ? 7 - i % 16 : i % 16;
    CHECK(wave.lane(1, i) == (i / 16 ^ 1) * 16 + place);
    CHECK(wave.lane(2, i) == i / 16 * 16 + place);
  }
  CHECK(wave.run("v_permlane64_b32 v3, v0") == "");
  CHECK(wave.lane(3, 5) == 37);
  CHECK(wave.lane(3, 40) == 8);
}

TEST_CASE("a lane must not take the value of one that is off") {
  Numbered wave("gfx1100", 32);
  wave.set_scalar(2, 0x7654'3210, 0, 1);
  wave.set_scalar(3, 0xfedc'ba98, 0, 1);
  wave.set_scalar(kExec, 1);
  CHECK(wave.run("v_permlanex16_b32 v1, v0, s2, s3") == "reads the value of an inactive lane");
  CHECK(wave.wave().failing_lanes == 1);
  CHECK(wave.run("v_permlanex16_b32 v1, v0, s2, s3 op_sel:[1,0]") == "");
  CHECK(wave.lane(1, 0) == 16);
  CHECK(wave.lane(1, 1) == 0);
  CHECK(wave.run("v_permlane16_b32 v1, v0, s2, s3") == "");
  CHECK(wave.run("v_permlane16_b32 v1, v0, s2, s3 op_sel:[0,1]") == "");
  CHECK(wave.run("v_mov_b32_dpp v1, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1") ==
        "reads the value of an inactive lane");
  CHECK(wave.run("v_mov_b32_dpp v1, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1 fi:1") == "");
  CHECK(wave.lane(1, 0) == 1);
}

TEST_CASE("undefined bits go with a lane's value") {
  Numbered wave("gfx1100", 32);
  wave.set_scalar(2, 0x7654'3210, 0, 1);
  wave.set_scalar(3, 0xfedc'ba98, 0, 1);
  wave.leave_undefined(0, 3);
  CHECK(wave.run("v_permlanex16_b32 v1, v0, s2, s3") == "");
  for (std::uint32_t i = 0; i < 32; ++i) CHECK(wave.wave().undefined_vectors[1].lanes[i] == (i == 19 ? 0x10 : 0));
  CHECK(wave.run("v_swap_b32 v0, v1") == "");
  CHECK(wave.wave().undefined_vectors[1].lanes[3] == 0x10);
  CHECK(wave.wave().undefined_vectors[0].lanes[19] == 0x10);
  CHECK(wave.lane(1, 7) == 7);
  CHECK(wave.lane(0, 7) == 23);
}

TEST_CASE("lanes count the mask's bits below them") {
  for (const std::uint32_t num_lanes : {32u, 64u}) {
    Numbered wave("gfx1100", num_lanes);
    const std::uint64_t mask = 0x8123'4567'89ab'cdef;
    wave.set_scalar(4, mask);
    CHECK(wave.run("v_mbcnt_lo_u32_b32 v1, s4, 100") == "");
    CHECK(wave.run("v_mbcnt_hi_u32_b32 v1, s5, v1") == "");
    for (std::uint32_t i = 0; i < num_lanes; ++i) {
      CHECK(wave.lane(1, i) == 100 + static_cast<std::uint32_t>(std::popcount(mask & ((std::uint64_t{1} << i) - 1))));
    }
  }
}

}  // namespace
}  // namespace millrace::isa::test
