// SPDX-License-Identifier: Apache-2.0
// The float division that compilers build from v_div_scale, v_rcp, v_fma, v_div_fmas and v_div_fixup is correctly
// rounded, whatever the error of v_rcp.
#include <cmath>

#include <fmt/format.h>

#include "tests/isa/float_lanes.h"

namespace millrace::isa::test {
namespace {

constexpr const char* kDivideF32[] = {"v_div_scale_f32 v4, null, v2, v2, v0",
                                      "v_rcp_f32_e32 v5, v4",
                                      "v_fma_f32 v6, -v4, v5, 1.0",
                                      "v_fmac_f32_e32 v5, v6, v5",
                                      "v_div_scale_f32 v6, vcc_lo, v0, v2, v0",
                                      "v_mul_f32_e32 v7, v6, v5",
                                      "v_fma_f32 v8, -v4, v7, v6",
                                      "v_fmac_f32_e32 v7, v8, v5",
                                      "v_fma_f32 v4, -v4, v7, v6",
                                      "v_div_fmas_f32 v4, v4, v5, v7",
                                      "v_div_fixup_f32 v10, v4, v2, v0"};
constexpr const char* kDivideF64[] = {"v_div_scale_f64 v[4:5], null, v[2:3], v[2:3], v[0:1]",
                                      "v_rcp_f64_e32 v[6:7], v[4:5]",
                                      "v_fma_f64 v[8:9], -v[4:5], v[6:7], 1.0",
                                      "v_fma_f64 v[6:7], v[6:7], v[8:9], v[6:7]",
                                      "v_fma_f64 v[8:9], -v[4:5], v[6:7], 1.0",
                                      "v_fma_f64 v[6:7], v[6:7], v[8:9], v[6:7]",
                                      "v_div_scale_f64 v[8:9], vcc_lo, v[0:1], v[2:3], v[0:1]",
                                      "v_mul_f64 v[12:13], v[8:9], v[6:7]",
                                      "v_fma_f64 v[4:5], -v[4:5], v[12:13], v[8:9]",
                                      "v_div_fmas_f64 v[4:5], v[4:5], v[6:7], v[12:13]",
                                      "v_div_fixup_f64 v[10:11], v[4:5], v[2:3], v[0:1]"};

template <class T>
void check_division(std::span<const char* const> code, std::uint64_t seed) {
  std::mt19937_64 random(4 + seed);
  BareWave bare("gfx1100", kNumLanes);
  bare.set_seed(seed);
  for (int trial = 0; trial < 3000; ++trial) {
    LaneArray<T> a = sample_lanes<T>(random), b = sample_lanes<T>(random);
    // Half of the quotients near one another's rounding: a is b times a float, rounded.
    for (std::uint32_t lane = 0; lane < kNumLanes; lane += 2) a[lane] = b[lane] * sample_float<T>(random);
    set_lanes(bare, 0, a), set_lanes(bare, 2, b);
    for (const char* text : code) REQUIRE(bare.run(text) == "");
    for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) {
      const T found = lane_value<T>(bare, 10, lane);
      CHECK_MESSAGE(is_same(found, a[lane] / b[lane]),
                    fmt::format("{:a} / {:a} is {:a}, expected {:a}", a[lane], b[lane], found, a[lane] / b[lane]));
    }
  }
}

TEST_CASE("v_div_scale takes the first case of the manuals that holds") {
  const struct {
    const char* what;
    std::uint32_t value, denominator, numerator, expected;
    bool scales_back;
  } cases[] = {
      {"the numerator is zero", 0x3f800000, 0x3f800000, 0, 0x7fc00000, false},
      {"the denominator is zero", 0, 0, 0x3f800000, 0x7fc00000, false},
      {"the quotient nears overflow, the denominator", 0x3f800000, 0x3f800000, 0x7f000000, 0x5f800000, true},
      {"the quotient nears overflow, the numerator", 0x7f000000, 0x3f800000, 0x7f000000, 0x7f000000, true},
      {"the numerator is NaN", 0x7fc00001, 0x3f800000, 0x7fc00001, 0x7fc00001, true},
      {"the denominator is subnormal, the denominator", 1, 1, 0x21800000, 0x15000000, false},
      {"the denominator is subnormal, the numerator", 0x21800000, 1, 0x21800000, 0x41800000, false},
      // Here the manuals scale the other way; see div_scale.
      {"reciprocal and quotient are subnormal, the denominator", 0x7f000000, 0x7f000000, 0x3f800000, 0x5f000000, true},
      {"reciprocal and quotient are subnormal, the numerator", 0x3f800000, 0x7f000000, 0x3f800000, 0x3f800000, true},
      {"the reciprocal is subnormal, the denominator", 0x7f000000, 0x7f000000, 0x44800000, 0x5f000000, false},
      {"the reciprocal is subnormal, the numerator", 0x44800000, 0x7f000000, 0x44800000, 0x24800000, false},
      {"the reciprocal is subnormal, of infinity", 0x7f000000, 0x7f000000, 0x7f800000, 0x5f000000, false},
      {"the quotient is subnormal, the denominator", 0x71800000, 0x71800000, 0x30800000, 0x71800000, true},
      {"the quotient is subnormal, the numerator", 0x30800000, 0x71800000, 0x30800000, 0x50800000, true},
      {"the numerator is tiny, the denominator", 0x3f800000, 0x3f800000, 0x08800000, 0x5f800000, false},
      {"the numerator is tiny, the numerator", 0x08800000, 0x3f800000, 0x08800000, 0x28800000, false},
      {"nothing is out of the way", 0x40400000, 0x3f800000, 0x40400000, 0x40400000, false},
  };
  BareWave bare("gfx1100", kNumLanes);
  for (const auto& row : cases) {
    CAPTURE(std::string(row.what));
    LaneArray<std::uint32_t> values, denominators, numerators;
    values.fill(row.value), denominators.fill(row.denominator), numerators.fill(row.numerator);
    set_lanes(bare, 0, values), set_lanes(bare, 1, denominators), set_lanes(bare, 2, numerators);
    REQUIRE(bare.run("v_div_scale_f32 v3, s4, v0, v1, v2") == "");
    CHECK(lane_value<std::uint32_t>(bare, 3, 7) == row.expected);
    CHECK(bare.scalar(4, 1) == (row.scales_back ? 0xffff'ffffu : 0u));
  }
}

TEST_CASE("division of f32 is correctly rounded") {
  for (const std::uint64_t seed : {0, 1, 2}) check_division<float>(kDivideF32, seed);
}

TEST_CASE("division of f64 is correctly rounded") {
  for (const std::uint64_t seed : {0, 1, 2}) check_division<double>(kDivideF64, seed);
}

}  // namespace
}  // namespace millrace::isa::test
