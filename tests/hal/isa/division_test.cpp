// SPDX-License-Identifier: Apache-2.0
// The division of floats that compilers make of v_div_scale, v_rcp, v_fma, v_div_fmas and v_div_fixup is correctly
// rounded, however v_rcp errs.
#include <cmath>

#include <fmt/format.h>

#include "tests/hal/isa/float_lanes.h"

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
    LaneValues<T> a = sample_lanes<T>(random), b = sample_lanes<T>(random);
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

TEST_CASE("division of f32 is correctly rounded") {
  for (const std::uint64_t seed : {0, 1, 2}) check_division<float>(kDivideF32, seed);
}

TEST_CASE("division of f64 is correctly rounded") {
  for (const std::uint64_t seed : {0, 1, 2}) check_division<double>(kDivideF64, seed);
}

}  // namespace
}  // namespace millrace::isa::test
