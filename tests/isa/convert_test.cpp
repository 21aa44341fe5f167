// SPDX-License-Identifier: Apache-2.0
// Conversions among floats and integers at their limits.
#include <cmath>

#include "tests/isa/float_lanes.h"

namespace millrace::isa::test {
namespace {

struct ConvertCase {
  const char* text;  // from v0 and v2 to v6
  std::uint64_t a, b, expected;
};

constexpr ConvertCase kCases[] = {
    {"v_cvt_i32_f32 v6, v0", 0x4f000000, 0, 0x7fffffff},  // 2^31
    {"v_cvt_i32_f32 v6, v0", 0xcf000000, 0, 0x80000000},  // -2^31
    {"v_cvt_i32_f32 v6, v0", 0xbfe66666, 0, 0xffffffff},  // -1.8
    {"v_cvt_i32_f32 v6, v0", 0xffc00000, 0, 0},
    {"v_cvt_u32_f32 v6, v0", 0x4f7fffff, 0, 0xffffff00},
    {"v_cvt_u32_f32 v6, v0", 0x7f800000, 0, 0xffffffff},
    {"v_cvt_u32_f32 v6, v0", 0xbf800000, 0, 0},
    {"v_cvt_i32_f64 v6, v[0:1]", 0xc1e0000000200000, 0, 0x80000000},  // -2^31 - 1
    {"v_cvt_u32_f64 v6, v[0:1]", 0x41efffffffffffff, 0, 0xffffffff},
    {"v_cvt_f32_i32 v6, v0", 0x01000001, 0, 0x4b800000},  // a tie, to even
    {"v_cvt_f32_u32 v6, v0", 0xffffffff, 0, 0x4f800000},
    {"v_cvt_f32_ubyte2 v6, v0", 0x12803456, 0, 0x43000000},
    {"v_cvt_f64_u32 v[6:7], v0", 0xffffffff, 0, 0x41efffffffe00000},
    {"v_cvt_f64_i32 v[6:7], v0", 0xffffffff, 0, 0xbff0000000000000},
    {"v_cvt_f64_f32 v[6:7], v0", 0x7f800001, 0, 0x7ff8000020000000},  // quiet
    {"v_cvt_f64_f32 v[6:7], v0", 0x80000001, 0, 0xb6a0000000000000},
    {"v_cvt_f32_f64 v6, v[0:1]", 0x47efffffefffffff, 0, 0x7f7fffff},  // just below half a unit beyond the largest
    {"v_cvt_f32_f64 v6, v[0:1]", 0x47effffff0000000, 0, 0x7f800000},
    {"v_cvt_f32_f64 v6, v[0:1]", 0x3690000000000001, 0, 1},  // just above half of the smallest f32
    {"v_cvt_f16_f32 v6, v0", 0x477fefff, 0, 0x7bff},
    {"v_cvt_f16_f32 v6, v0", 0x477ff000, 0, 0x7c00},
    {"v_cvt_f16_f32 v6, v0", 0x33000001, 0, 1},
    {"v_cvt_f16_f32 v6, v0", 0x7f800001, 0, 0x7e00},
    {"v_cvt_f32_f16 v6, v0", 0xffff8001, 0, 0xb3800000},
    {"v_cvt_pkrtz_f16_f32 v6, v0, v2", 0x477fffff, 0xb3ffffff, 0x80017bff},
    {"v_cvt_pkrtz_f16_f32 v6, v0, v2", 0x7f7fffff, 0xff800000, 0xfc007bff},
    {"v_cvt_u16_f16 v6, v0", 0x7c00, 0, 0xffff},
    {"v_cvt_i16_f16 v6, v0", 0xfc00, 0, 0x8000},
    {"v_cvt_f16_u16 v6, v0", 0xffff, 0, 0x7c00},
    {"v_cvt_pk_i16_i32 v6, v0, v2", 0x12345, 0xffff0000, 0x80007fff},
    {"v_cvt_pk_u16_u32 v6, v0, v2", 0x12345, 0x1234, 0x1234ffff},
    {"v_cvt_floor_i32_f32 v6, v0", 0xbfc00000, 0, 0xfffffffe},
    {"v_cvt_off_f32_i4 v6, v0", 0xf8, 0, 0xbf000000},
};

TEST_CASE("conversions saturate, round and keep what they can") {
  BareWave bare("gfx1100", kNumLanes);
  for (const ConvertCase& row : kCases) {
    CAPTURE(row.text);
    CAPTURE(row.a);
    LaneArray<std::uint64_t> values;
    values.fill(row.a), set_lanes(bare, 0, values);
    values.fill(row.b), set_lanes(bare, 2, values);
    values.fill(0), set_lanes(bare, 6, values);
    REQUIRE(bare.run(row.text) == "");
    CHECK(lane_value<std::uint64_t>(bare, 6, 7) == row.expected);
  }
}

TEST_CASE("half of a scalar register is flushed if MODE says so") {
  BareWave bare("gfx1151", 32);
  bare.set_scalar(0, 0x8001'0001, 0, 1);
  CHECK(bare.run("s_cvt_hi_f32_f16 s1, s0") == "");
  CHECK(bare.scalar(1, 1) == 0xb380'0000);
  bare.wave().mode.flushes_f16_f64_inputs = true;
  for (const char* text : {"s_cvt_hi_f32_f16 s1, s0", "s_cvt_f32_f16 s2, s0"}) CHECK(bare.run(text) == "");
  CHECK(bare.scalar(1, 1) == 0x8000'0000);
  CHECK(bare.scalar(2, 1) == 0);
}

TEST_CASE("MODE's rounding holds for conversions to floats") {
  BareWave bare("gfx1100", kNumLanes);
  LaneArray<float> third;
  third.fill(1.0f / 3);
  set_lanes(bare, 0, third);
  LaneArray<std::uint32_t> number;
  number.fill(0x01000001);
  set_lanes(bare, 1, number);
  static constexpr std::uint64_t kHalves[] = {0x3555, 0x3556, 0x3555, 0x3555};
  static constexpr std::uint64_t kFloats[] = {0x4b800000, 0x4b800001, 0x4b800000, 0x4b800000};
  for (std::uint8_t round = 0; round < 4; ++round) {
    bare.wave().mode.round_f32 = bare.wave().mode.round_f16_f64 = round;
    set_lanes(bare, 2, LaneArray<float>{});
    REQUIRE(bare.run("v_cvt_f16_f32_e32 v2, v0") == "");
    REQUIRE(bare.run("v_cvt_f32_i32_e32 v3, v1") == "");
    CHECK(lane_value<std::uint32_t>(bare, 2, 0) == kHalves[round]);
    CHECK(lane_value<std::uint32_t>(bare, 3, 0) == kFloats[round]);
  }
}

TEST_CASE("approximate instructions are rounded to nearest, or with a seed to either side") {
  struct Approximate {
    const char* text;
    double (*expected)(double);
  };
  static constexpr Approximate kRows[] = {
      {"v_rcp_f32 v2, v0", [](double x) { return 1 / x; }},
      {"v_rsq_f32 v2, v0", [](double x) { return 1 / std::sqrt(x); }},
      {"v_sqrt_f32 v2, v0", [](double x) { return std::sqrt(x); }},
      {"v_exp_f32 v2, v0", [](double x) { return std::exp2(x); }},
      {"v_log_f32 v2, v0", [](double x) { return std::log2(x); }},
      {"v_sin_f32 v2, v0", [](double x) { return std::sin(x * 6.283185307179586); }},
      {"v_cos_f32 v2, v0", [](double x) { return std::cos(x * 6.283185307179586); }},
  };
  std::mt19937_64 random(7);
  BareWave bare("gfx1100", kNumLanes);
  for (const Approximate& row : kRows) {
    CAPTURE(row.text);
    int num_other = 0;
    for (int trial = 0; trial < 50; ++trial) {
      LaneArray<float> x;
      for (float& value : x) value = static_cast<float>(random() >> 40) * 0x1p-24f + 0.01f;
      set_lanes(bare, 0, x);
      bare.set_seed(0);
      REQUIRE(bare.run(row.text) == "");
      LaneArray<float> nearest;
      for (std::uint32_t i = 0; i < kNumLanes; ++i) {
        nearest[i] = lane_value<float>(bare, 2, i);
        CHECK(nearest[i] == static_cast<float>(row.expected(x[i])));
      }
      bare.set_seed(9);
      REQUIRE(bare.run(row.text) == "");
      for (std::uint32_t i = 0; i < kNumLanes; ++i) {
        const float found = lane_value<float>(bare, 2, i);
        const double exact = row.expected(x[i]), low = std::nextafter(nearest[i], -INFINITY);
        CHECK(std::fabs(found - exact) <= std::fabs(nearest[i] - low));
        num_other += found != nearest[i];
      }
    }
    CHECK(num_other > 400);
    CHECK(num_other < 1200);
  }
}

TEST_CASE("approximate instructions are exact where a result is, and know no subnormals") {
  BareWave bare("gfx1100", kNumLanes);
  static constexpr ConvertCase kExact[] = {
      {"v_rcp_f32 v6, v0", 0x40000000, 0, 0x3f000000},
      {"v_rcp_f32 v6, v0", 0x80000000, 0, 0xff800000},
      {"v_rcp_f32 v6, v0", 0x00000001, 0, 0x7f800000},
      {"v_rcp_f32 v6, v0", 0x7f7fffff, 0, 0},
      {"v_rsq_f32 v6, v0", 0x40800000, 0, 0x3f000000},
      {"v_rsq_f32 v6, v0", 0xbf800000, 0, 0x7fc00000},
      {"v_sqrt_f32 v6, v0", 0x41100000, 0, 0x40400000},
      {"v_exp_f32 v6, v0", 0xc3000000, 0, 0},
      {"v_log_f32 v6, v0", 0, 0, 0xff800000},
      {"v_log_f32 v6, v0", 0x41000000, 0, 0x40400000},
      {"v_sin_f32 v6, v0", 0x3e800000, 0, 0x3f800000},
      {"v_cos_f32 v6, v0", 0x3e800000, 0, 0},
      {"v_sin_f32 v6, v0", 0x43808000, 0, 0},
      {"v_cos_f32 v6, v0", 0x43808000, 0, 0x3f800000},
      {"v_rcp_f64 v[6:7], v[0:1]", 0x4000000000000000, 0, 0x3fe0000000000000},
      {"v_rcp_f64 v[6:7], v[0:1]", 1, 0, 0x7ff0000000000000},
  };
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    bare.set_seed(seed);
    for (const ConvertCase& row : kExact) {
      CAPTURE(row.text);
      CAPTURE(row.a);
      LaneArray<std::uint64_t> values;
      values.fill(row.a), set_lanes(bare, 0, values);
      values.fill(0), set_lanes(bare, 6, values);
      REQUIRE(bare.run(row.text) == "");
      CHECK(lane_value<std::uint64_t>(bare, 6, 0) == row.expected);
    }
  }
}

}  // namespace
}  // namespace millrace::isa::test
