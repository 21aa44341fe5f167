// SPDX-License-Identifier: Apache-2.0
// The modifiers of vector instructions: SDWA, DPP, op_sel, and the forms that leave operands out.
#include <doctest/doctest.h>

#include "tests/isa/bare_wave.h"

namespace millrace::isa::test {
namespace {

/// A wave whose registers v0 to v15 are defined, and hold the same in all lanes.
struct UniformWave : BareWave {
  UniformWave(const char* gfx, std::uint32_t num_lanes) : BareWave(gfx, num_lanes) {
    for (std::uint32_t i = 0; i < 16; ++i) set(i, 0);
    set_scalar(kVcc, 0);
  }
  void set(std::uint32_t vector_register, std::uint32_t value, std::uint32_t undefined = 0) {
    LaneWords bits;
    bits.lanes.fill(undefined);
    wave().vectors[vector_register].lanes.fill(value);
    wave().set_undefined(vector_register, wave().machine.all_lanes(), bits);
  }
  std::uint32_t value(std::uint32_t vector_register) { return wave().vectors[vector_register].lanes[1]; }
  std::uint32_t undefined(std::uint32_t vector_register) { return wave().undefined_vectors[vector_register].lanes[1]; }
};

TEST_CASE("SDWA takes parts of its sources and writes a part of its result") {
  const struct {
    const char* text;
    std::uint32_t expected, undefined;
  } cases[] = {
      {"v_or_b32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1", 0x77cd, 0},
      {"v_or_b32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1", 0x77cd'0000, 0},
      {"v_or_b32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1 src1_sel:WORD_1",
       0x1234'cd78, 0x8000'0000},
      {"v_or_b32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_1 src1_sel:WORD_1", 0xffff'cd00,
       0},
      {"v_and_b32_sdwa v0, sext(v1), v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD",
       0xffff'ffcd, 0},
      {"v_and_b32_sdwa v0, sext(v1), v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD",
       0xffff'ffef, 0xffff'ff80},
      {"v_add_u16_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1", 0xcd00, 0},
      {"v_max_i16_sdwa v0, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1", 0x7700,
       0},
      {"v_add_co_u32_sdwa v0, vcc, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1", 0x77cd,
       0},
      {"v_cndmask_b32_sdwa v0, v1, v2, vcc dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1", 0xcd,
       0},
  };
  for (const auto& one : cases) {
    CAPTURE(one.text);
    UniformWave wave("gfx90a", 64);
    wave.set(0, 0x1234'5678, 0x8000'8000);
    wave.set(1, 0x89ab'cdef, 0x80);
    wave.set(2, 0x7700'1111, 0x8000);
    wave.set(3, 0xffff'ffff);
    CHECK(wave.run(one.text) == "");
    CHECK(wave.value(0) == one.expected);
    CHECK(wave.undefined(0) == one.undefined);
  }
  UniformWave wave("gfx1030", 32);
  wave.set(1, 0xff00);
  wave.set(2, 0xffff'ffff);
  CHECK(wave.run("v_cmp_eq_u32_sdwa s4, sext(v1), v2 src0_sel:BYTE_1 src1_sel:DWORD") == "");
  CHECK(wave.scalar(4, 1) == 0xffff'ffff);
}

TEST_CASE("DPP takes the first source from other lanes") {
  const struct {
    const char* text;
    std::uint32_t lane, expected;
  } cases[] = {
      {"v_add_nc_u32_dpp v1, v0, v0 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf bound_ctrl:1", 5, 12},
      {"v_mov_b32_dpp v1, v0 row_xmask:8 row_mask:0xf bank_mask:0xf bound_ctrl:1", 17, 25},
      {"v_mov_b32_dpp v1, v0 row_ror:8 row_mask:0xf bank_mask:0xf bound_ctrl:1", 17, 25},
      {"v_mov_b32_dpp v1, v0 row_ror:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", 16, 31},
      {"v_mov_b32_dpp v1, v0 row_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1", 17, 30},
      {"v_mov_b32_dpp v1, v0 row_half_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1", 9, 14},
      {"v_mov_b32_dpp v1, v0 row_share:3 row_mask:0xf bank_mask:0xf bound_ctrl:1", 20, 19},
      {"v_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf", 17, 16},
      {"v_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf", 16, 99},
      {"v_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", 16, 0},
      {"v_mov_b32_dpp v1, v0 row_shl:1 row_mask:0x2 bank_mask:0xf", 3, 99},
      {"v_mov_b32_dpp v1, v0 row_shl:1 row_mask:0xf bank_mask:0x2", 5, 6},
      {"v_mov_b32_dpp v1, v0 row_shl:1 row_mask:0xf bank_mask:0x2", 3, 99},
      {"v_mov_b32_dpp v1, v0 dpp8:[7,6,5,4,3,2,1,0]", 9, 14},
      {"v_cndmask_b32_dpp v1, v0, v0, vcc_lo quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1", 4, 5},
      {"v_max_i16_e64_dpp v1, v0, v0 row_xmask:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", 4, 5},
      {"v_add_co_u32_e64_dpp v1, s4, v0, v0 row_xmask:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", 4, 9},
  };
  for (const auto& one : cases) {
    CAPTURE(one.text);
    UniformWave wave("gfx1100", 32);
    wave.set(1, 99);
    for (std::uint32_t i = 0; i < 32; ++i) wave.wave().vectors[0].lanes[i] = i;
    CHECK(wave.run(one.text) == "");
    CHECK(wave.wave().vectors[1].lanes[one.lane] == one.expected);
  }
}

TEST_CASE("a compare gives 0 for lanes that DPP leaves off") {
  const std::pair<const char*, std::uint32_t> cases[] = {
      {"quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf", 0xffff'ffff},
      {"quad_perm:[0,1,2,3] row_mask:0x2 bank_mask:0xf", 0xffff'0000},
      {"quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0x1", 0x000f'000f},
      {"row_shr:1 row_mask:0xf bank_mask:0xf", 0xfffe'fffe},
      {"row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", 0xffff'ffff}};
  for (const auto& [control, expected] : cases) {
    CAPTURE(std::string(control));
    UniformWave wave("gfx1100", 32);
    wave.set(0, 5);
    CHECK(wave.run(std::string("v_cmp_le_u32_e64_dpp s4, v0, v0 ") + control) == "");
    CHECK(wave.scalar(4, 1) == expected);
    CHECK(wave.run(std::string("v_cmpx_le_u32_e64_dpp v0, v0 ") + control) == "");
    CHECK(wave.scalar(kExec, 1) == expected);
  }
}

TEST_CASE("op_sel chooses halves") {
  const struct {
    const char *text, *gfx;
    std::uint32_t expected;
  } cases[] = {
      {"v_pk_add_u16 v0, v1, v2", "gfx90a", 0x000a'0007},
      {"v_pk_add_u16 v0, v1, v2 op_sel_hi:[1,0]", "gfx1100", 0x0009'0007},
      {"v_pk_add_u16 v0, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]", "gfx1100", 0x0008'0009},
      {"v_pk_add_u16 v0, v1, 1 op_sel_hi:[1,0]", "gfx90a", 0x0006'0004},
      {"v_pk_add_u16 v0, v1, -1", "gfx90a", 0x0004'0002},
      {"v_pk_add_u16 v0, v1, 1", "gfx90a", 0x0005'0004},
      {"v_mad_u16 v0, v1, v2, v1 op_sel:[1,0,1,1]", "gfx1030", 0x0019'abcd},
      {"v_mad_u16 v0, v1, v2, v1 op_sel:[1,0,1,0]", "gfx90a", 0x1234'0019},
      {"v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[1,0]", "gfx90a", 0x33},
  };
  for (const auto& one : cases) {
    CAPTURE(one.text);
    UniformWave wave(one.gfx, one.gfx == std::string("gfx90a") ? 64 : 32);
    wave.set(0, 0x1234'abcd);
    wave.set(1, 0x0005'0003);
    wave.set(2, 0x0005'0004);
    wave.set(3, 0x33);
    wave.set(4, 0x44);
    CHECK(wave.run(one.text) == "");
    CHECK(wave.value(0) == one.expected);
  }
  UniformWave wave("gfx90a", 64);
  wave.set(2, 0x22);
  wave.set(5, 0x55);
  CHECK(wave.run("v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[0,1]") == "");
  CHECK(wave.value(0) == 0x22);
  CHECK(wave.value(1) == 0x55);
}

TEST_CASE("packed floats may be negated half by half, and take a constant for both") {
  UniformWave wave("gfx90a", 64);
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  wave.set(2, bits(1.5f));
  wave.set(3, bits(2.5f));
  CHECK(wave.run("v_pk_add_f32 v[0:1], v[2:3], 0.5 op_sel_hi:[1,0]") == "");
  CHECK(wave.value(0) == bits(2.0f));
  CHECK(wave.value(1) == bits(3.0f));
  CHECK(wave.run("v_pk_fma_f32 v[0:1], v[2:3], v[2:3], v[2:3] op_sel_hi:[0,1,1] neg_lo:[1,0,0] neg_hi:[0,0,1]") == "");
  CHECK(wave.value(0) == bits(-0.75f));
  CHECK(wave.value(1) == bits(1.25f));
  CHECK(wave.run("v_pk_mul_f32 v[0:1], v[2:3], 0.5").find("the upper half of a constant") != std::string::npos);
  CHECK(wave.run("v_pk_add_u16 v0, v1, v2 neg_lo:[1,0]").find("neg_lo of an integer") != std::string::npos);
  // An undefined low half does not spoil the high one.
  wave.set(4, 0, 1);
  CHECK(wave.run("v_pk_mul_f32 v[0:1], v[2:3], v[4:5]") == "");
  CHECK(wave.undefined(0) == ~0u);
  CHECK(wave.undefined(1) == 0);
}

TEST_CASE("forms that leave operands out read and write the implied operands") {
  UniformWave wave("gfx1100", 32);
  const Machine machine = make_machine("gfx1100", 32).value();
  auto pair = decode_instruction(
      {.size_bytes = 8, .text = "v_dual_cndmask_b32 v0, v1, v2 :: v_dual_add_nc_u32 v3, 4, v3"}, 0, machine);
  REQUIRE(pair.ok());
  CHECK(std::string(pair->row->name) == "v_cndmask_b32");
  CHECK(pair->source(2).first == kVcc);
  REQUIRE(pair->second != nullptr);
  CHECK(std::string(pair->second->row->name) == "v_add_nc_u32");
  wave.set(1, 1);
  wave.set(2, 2);
  wave.set_scalar(kVcc, 0b10, 0, 1);
  CHECK(wave.run("v_cndmask_b32_e32 v0, v1, v2, vcc_lo") == "");
  CHECK(wave.wave().vectors[0].lanes[0] == 1);
  CHECK(wave.wave().vectors[0].lanes[1] == 2);
  wave.set(1, 0xc000'0000);
  CHECK(wave.run("v_cndmask_b32_e64 v0, -|v1|, 4.0, vcc_lo") == "");
  CHECK(wave.wave().vectors[0].lanes[0] == 0xc000'0000);
  CHECK(wave.wave().vectors[0].lanes[1] == 0x4080'0000);
  CHECK(wave.run("v_cndmask_b32_e64 v0, |v1|, 4.0, vcc_lo") == "");
  CHECK(wave.wave().vectors[0].lanes[0] == 0x4000'0000);
  // A carry that nobody wants.
  CHECK(wave.run("v_mad_u64_u32 v[4:5], null, v1, 4, 5") == "");
  CHECK(wave.value(4) == 5);
  CHECK(wave.value(5) == 3);
  CHECK(wave.run("v_mad_i64_i32 v[4:5], null, v1, 4, -5") == "");
  CHECK(wave.value(4) == 0xffff'fffb);
  CHECK(wave.value(5) == 0xffff'fffe);
  // GFX9 writes a mask of v_cmpx as well.
  UniformWave old("gfx90a", 64);
  old.wave().vectors[1].lanes[7] = 1;
  CHECK(old.run("v_cmpx_ne_u32_e32 vcc, 0, v1") == "");
  CHECK(old.scalar(kVcc) == 1u << 7);
  CHECK(old.wave().exec() == 1u << 7);
}

TEST_CASE("instructions run without shadows if checks are off") {
  for (const char* text :
       {"v_add_nc_u32_e32 v0, 5, v1", "v_mad_u64_u32 v[0:1], null, 1, 5, 0", "v_pk_add_u16 v0, v1, 5",
        "v_max_i16 v0, v1, 5", "v_permlane64_b32 v0, v2", "v_writelane_b32 v0, 5, 1", "v_mbcnt_lo_u32_b32 v0, 0, 5",
        "v_swap_b32 v0, v2", "v_cndmask_b32_e64 v0, 5, v1, s0",
        "v_mov_b32_dpp v0, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"}) {
    CAPTURE(text);
    BareWave bare("gfx1100", std::string(text).find("permlane64") == std::string::npos ? 32 : 64, false);
    bare.set_scalar(0, 0);
    bare.wave().vectors[2].lanes.fill(5);
    CHECK(bare.run(text) == "");
    CHECK(bare.wave().vectors[0].lanes[1] == 5);
  }
}

TEST_CASE("operands of the wrong file are refused") {
  BareWave bare("gfx1100", 32);
  CHECK(bare.run("v_mov_b32_e32 s1, v0") == "at 0x0, v_mov_b32_e32 s1, v0: operand 's1' is of the wrong kind");
  CHECK(bare.run("s_mov_b32 v1, 0") == "at 0x0, s_mov_b32 v1, 0: operand 'v1' is of the wrong kind");
  CHECK(bare.run("v_cmp_eq_u32_e64 v3, v0, v0") ==
        "at 0x0, v_cmp_eq_u32_e64 v3, v0, v0: operand 'v3' is of the wrong kind");
}

TEST_CASE("scalar floats have signs as vector floats do") {
  BareWave bare("gfx1201", 32);
  bare.set_scalar(8, 0x3f80'0000, 0, 1);  // 1
  CHECK(bare.run("v_s_exp_f32 s9, -s8") == "");
  CHECK(bare.scalar(9, 1) == 0x3f00'0000);  // 1/2
  bare.set_scalar(8, 0xc080'0000, 0, 1);    // -4
  CHECK(bare.run("v_s_sqrt_f32 s9, |s8|") == "");
  CHECK(bare.scalar(9, 1) == 0x4000'0000);  // 2
}

TEST_CASE("the middle of zeros of both signs is +0, and omod needs that subnormals are flushed") {
  BareWave bare("gfx1100", 32);
  bare.set_scalar(8, 0x8000'0000'0000'0000);  // +0 in s8, -0 in s9
  CHECK(bare.run("v_med3_f32 v1, s9, s8, s9") == "");
  CHECK(bare.wave().vectors[1].lanes[0] == 0);
  CHECK(bare.run("v_mov_b32_e32 v2, 1.0") == "");
  CHECK(bare.run("v_add_f32_e64 v3, v2, v2 mul:2") == "");
  CHECK(bare.wave().vectors[3].lanes[0] == 0x4000'0000);  // 2
  bare.wave().mode.flushes_f32_results = true;
  CHECK(bare.run("v_add_f32_e64 v3, v2, v2 mul:2") == "");
  CHECK(bare.wave().vectors[3].lanes[0] == 0x4080'0000);  // 4
  bare.wave().mode.flushes_f16_f64_results = true;
  CHECK(bare.run("v_mul_f64 v[4:5], 2.0, 4.0 div:2") == "");
  CHECK(bare.wave().vectors[5].lanes[0] == 0x4010'0000);  // 4
}

TEST_CASE("omod gives +0 for -0 and for subnormals, and nothing under MODE's IEEE bit") {
  BareWave bare("gfx1100", 32);
  bare.wave().mode.flushes_f32_results = true;
  bare.set_scalar(8, 0x8080'0000'8000'0000);  // -0 in s8, the greatest negative number that is normal in s9
  CHECK(bare.run("v_add_f32_e64 v3, s8, s8 mul:2") == "");
  CHECK(bare.wave().vectors[3].lanes[0] == 0);
  CHECK(bare.run("v_mul_f32_e64 v3, s9, 1.0 div:2") == "");
  CHECK(bare.wave().vectors[3].lanes[0] == 0);
  bare.wave().mode.is_ieee = true;
  CHECK(bare.run("v_mul_f32_e64 v3, s9, 1.0 div:2") == "");
  CHECK(bare.wave().vectors[3].lanes[0] == 0x8080'0000);
}

}  // namespace
}  // namespace millrace::isa::test
