// SPDX-License-Identifier: Apache-2.0
// Arithmetic on floats, against wider floats and the host's.
#include <cfenv>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "tests/isa/float_lanes.h"

namespace millrace::isa::test {
namespace {

__extension__ typedef __float128 Quad;

/// The exact result, or one that rounds as it does, in a wider type.
template <class T, class Wide>
struct FloatCase {
  const char* name;
  int num_sources;
  Wide (*expected)(Wide, Wide, Wide);
};

template <class T, class Wide>
void check_cases(std::span<const FloatCase<T, Wide>> cases, const char* gfx) {
  std::mt19937_64 random(1);
  BareWave bare(gfx, kNumLanes);
  for (const FloatCase<T, Wide>& row : cases) {
    std::string text = fmt::format("{} {}", row.name, sizeof(T) == 4 ? "v6" : "v[6:7]");
    for (int i = 0; i < row.num_sources; ++i) {
      text += sizeof(T) == 4 ? fmt::format(", v{}", 2 * i) : fmt::format(", v[{}:{}]", 2 * i, 2 * i + 1);
    }
    CAPTURE(text);
    for (int trial = 0; trial < 200; ++trial) {
      const LaneArray<T> sources[] = {sample_lanes<T>(random), sample_lanes<T>(random), sample_lanes<T>(random)};
      for (std::uint32_t i = 0; i < 3; ++i) set_lanes(bare, 2 * i, sources[i]);
      set_lanes(bare, 6, sources[0]);
      REQUIRE(bare.run(text) == "");
      for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) {
        const T a = sources[0][lane], b = sources[1][lane], c = sources[2][lane];
        const T expected = static_cast<T>(row.expected(a, b, c)), found = lane_value<T>(bare, 6, lane);
        CAPTURE(a);
        CAPTURE(b);
        CAPTURE(c);
        CHECK_MESSAGE(is_same(found, expected), found, " expected ", expected);
      }
    }
  }
}

double min_num(double a, double b) {
  if (a == b) return std::signbit(a) ? a : b;
  return std::fmin(a, b);
}
double max_num(double a, double b) {
  if (a == b) return std::signbit(a) ? b : a;
  return std::fmax(a, b);
}
double minimum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : min_num(a, b); }
double maximum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : max_num(a, b); }
double median(double a, double b, double c) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(c)) return min_num(min_num(a, b), c);
  // The manuals define it this way. Another way gives other zeros where both signs meet.
  const double largest = max_num(max_num(a, b), c);
  return largest == a ? max_num(b, c) : largest == b ? max_num(a, c) : max_num(a, b);
}

TEST_CASE("arithmetic of f32 is that of wider floats, rounded") {
  static constexpr FloatCase<float, double> kCases[] = {
      {"v_add_f32", 2, [](double a, double b, double) { return a + b; }},
      {"v_sub_f32", 2, [](double a, double b, double) { return a - b; }},
      {"v_subrev_f32", 2, [](double a, double b, double) { return b - a; }},
      {"v_mul_f32", 2, [](double a, double b, double) { return a * b; }},
      {"v_mul_legacy_f32", 2, [](double a, double b, double) { return a == 0 || b == 0 ? 0 : a * b; }},
      {"v_fma_f32", 3, [](double a, double b, double c) -> double { return std::fma(float(a), float(b), float(c)); }},
      {"v_min_f32", 2, [](double a, double b, double) { return min_num(a, b); }},
      {"v_max_f32", 2, [](double a, double b, double) { return max_num(a, b); }},
      {"v_min3_f32", 3, [](double a, double b, double c) { return min_num(min_num(a, b), c); }},
      {"v_max3_f32", 3, [](double a, double b, double c) { return max_num(max_num(a, b), c); }},
      {"v_med3_f32", 3, median},
      {"v_maxmin_f32", 3, [](double a, double b, double c) { return min_num(max_num(a, b), c); }},
      {"v_minmax_f32", 3, [](double a, double b, double c) { return max_num(min_num(a, b), c); }},
      {"v_min_num_f32", 2, [](double a, double b, double) { return min_num(a, b); }},
      {"v_max_num_f32", 2, [](double a, double b, double) { return max_num(a, b); }},
      {"v_med3_num_f32", 3, median},
      {"v_minimum_f32", 2, [](double a, double b, double) { return minimum(a, b); }},
      {"v_maximum_f32", 2, [](double a, double b, double) { return maximum(a, b); }},
      {"v_maximum3_f32", 3, [](double a, double b, double c) { return maximum(maximum(a, b), c); }},
      {"v_trunc_f32", 1, [](double a, double, double) { return std::trunc(a); }},
      {"v_ceil_f32", 1, [](double a, double, double) { return std::ceil(a); }},
      {"v_floor_f32", 1, [](double a, double, double) { return std::floor(a); }},
      {"v_rndne_f32", 1,
       [](double a, double, double) { return std::isinf(a) ? a : std::copysign(a - std::remainder(a, 1), a); }},
  };
  check_cases<float, double>(kCases, "gfx1100");
}

TEST_CASE("arithmetic of f64 is that of wider floats, rounded") {
  static constexpr FloatCase<double, Quad> kCases[] = {
      {"v_add_f64", 2, [](Quad a, Quad b, Quad) { return a + b; }},
      {"v_mul_f64", 2, [](Quad a, Quad b, Quad) { return a * b; }},
      {"v_min_f64", 2, [](Quad a, Quad b, Quad) -> Quad { return min_num(double(a), double(b)); }},
      {"v_max_f64", 2, [](Quad a, Quad b, Quad) -> Quad { return max_num(double(a), double(b)); }},
      {"v_minimum_f64", 2, [](Quad a, Quad b, Quad) -> Quad { return minimum(double(a), double(b)); }},
      {"v_maximum_f64", 2, [](Quad a, Quad b, Quad) -> Quad { return maximum(double(a), double(b)); }},
      {"v_trunc_f64", 1, [](Quad a, Quad, Quad) -> Quad { return std::trunc(double(a)); }},
      {"v_floor_f64", 1, [](Quad a, Quad, Quad) -> Quad { return std::floor(double(a)); }},
  };
  check_cases<double, Quad>(kCases, "gfx1100");
}

TEST_CASE("v_fma_f64 rounds once") {
  std::mt19937_64 random(2);
  BareWave bare("gfx942", 64);
  int num_exact = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const LaneArray<double> sources[] = {sample_lanes<double>(random), sample_lanes<double>(random),
                                         sample_lanes<double>(random)};
    for (std::uint32_t i = 0; i < 3; ++i) set_lanes(bare, 2 * i, sources[i]);
    REQUIRE(bare.run("v_fma_f64 v[6:7], v[0:1], v[2:3], v[4:5]") == "");
    REQUIRE(bare.run("v_fmac_f64_e32 v[4:5], v[0:1], v[2:3]") == "");
    for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) {
      const double a = sources[0][lane], b = sources[1][lane], c = sources[2][lane];
      const double found = lane_value<double>(bare, 6, lane);
      CHECK(is_same(lane_value<double>(bare, 4, lane), found));
      const Quad product = Quad(a) * b, sum = product + c;
      if (std::isfinite(static_cast<double>(sum)) && (sum - product != c || sum - c != product)) continue;
      ++num_exact;
      CHECK_MESSAGE(is_same(found, static_cast<double>(sum)), a, " * ", b, " + ", c, " is ", found);
    }
  }
  CHECK(num_exact > 3000);
}

struct BitsCase {
  const char* text;  // the result is v6, the sources v0, v2 and v4
  std::uint64_t a, b, c, expected;
};

void check_bits(BareWave& bare, const BitsCase& row) {
  const bool is_wide = std::string(row.text).find("v[6:7]") != std::string::npos;
  CAPTURE(row.text);
  CAPTURE(row.a);
  CAPTURE(row.b);
  LaneArray<std::uint64_t> values;
  values.fill(row.a), set_lanes(bare, 0, values);
  values.fill(row.b), set_lanes(bare, 2, values);
  values.fill(row.c), set_lanes(bare, 4, values);
  values.fill(0), set_lanes(bare, 6, values);
  REQUIRE(bare.run(row.text) == "");
  CHECK(lane_value<std::uint64_t>(bare, 6, 3) == (is_wide ? row.expected : row.expected & 0xffff'ffff));
}

TEST_CASE("NaN, zeros and limits are as the manuals say") {
  static constexpr BitsCase kCases[] = {
      // An invalid operation gives the positive quiet NaN; a NaN passes, made quiet.
      {"v_sub_f32 v6, v0, v2", 0x7f800000, 0x7f800000, 0, 0x7fc00000},
      {"v_mul_f32 v6, v0, v2", 0, 0xff800000, 0, 0x7fc00000},
      {"v_add_f32 v6, v0, v2", 0xff812345, 0x7fc00001, 0, 0xffc12345},
      {"v_fma_f32 v6, v0, v2, v4", 0x7f800000, 0x3f800000, 0xff800000, 0x7fc00000},
      {"v_fma_f32 v6, v0, v2, v4", 0x3f800000, 0x3f800000, 0x7f800001, 0x7fc00001},
      {"v_add_f64 v[6:7], v[0:1], -v[0:1]", 0x7ff0000000000000, 0, 0, 0x7ff8000000000000},
      // Modifiers of sources and results.
      {"v_add_f32_e64 v6, -|v0|, v2", 0xc0000000, 0x3f800000, 0, 0xbf800000},
      {"v_add_f32_e64 v6, v0, v2 clamp", 0x40000000, 0x3f800000, 0, 0x3f800000},
      {"v_add_f64 v[6:7], v[0:1], v[0:1] clamp", 0xbff0000000000000, 0, 0, 0},
      // GFX12's: numbers win against any NaN, and NaN against any number.
      {"v_min_num_f32 v6, v0, v2", 0x7f800001, 0x3f800000, 0, 0x3f800000},
      {"v_max_num_f32 v6, v0, v2", 0x7f800001, 0x7fc00002, 0, 0x7fc00001},
      {"v_minimum_f32 v6, v0, v2", 0x7fc00002, 0x7f800001, 0, 0x7fc00001},
      {"v_maximum_f32 v6, v0, v2", 0x80000000, 0, 0, 0},
      {"v_mul_dx9_zero_f32 v6, v0, v2", 0x80000000, 0x7fc00000, 0, 0},
      {"v_fract_f32 v6, v0", 0x80000001, 0, 0, 0x3f7fffff},
      {"v_fract_f32 v6, v0", 0xbf400000, 0, 0, 0x3e800000},
      {"v_fract_f64 v[6:7], v[0:1]", 0x8000000000000001, 0, 0, 0x3fefffffffffffff},
      {"v_ldexp_f32 v6, v0, v2", 0x3fc00000, static_cast<std::uint32_t>(-149), 0, 2},
      {"v_ldexp_f32 v6, v0, v2", 0x00000001, 276, 0, 0x7f000000},
      {"v_ldexp_f32 v6, v0, v2", 0x3f800000, 0x7fffffff, 0, 0x7f800000},
      {"v_ldexp_f64 v[6:7], v[0:1], v2", 0x3ff0000000000000, static_cast<std::uint32_t>(-1074), 0, 1},
      {"v_frexp_exp_i32_f32 v6, v0", 0x00000001, 0, 0, static_cast<std::uint32_t>(-148)},
      {"v_frexp_exp_i32_f32 v6, v0", 0xff800000, 0, 0, 0},
      {"v_frexp_mant_f32 v6, v0", 0x80000003, 0, 0, 0xbf400000},
      {"v_frexp_mant_f32 v6, v0", 0xff800000, 0, 0, 0xff800000},
      {"v_frexp_exp_i32_f64 v6, v[0:1]", 0x4000000000000000, 0, 0, 2},
      {"v_div_fixup_f32 v6, v0, v2, v4", 0x3f800000, 0, 0x80000000, 0xffc00000},
      {"v_div_fixup_f32 v6, v0, v2, v4", 0x3f800000, 0x80000000, 0x3f800000, 0xff800000},
      {"v_div_fixup_f32 v6, v0, v2, v4", 0x3f800000, 0x7f7fffff, 0x80000001, 0x80000000},
      {"v_div_fixup_f32 v6, v0, v2, v4", 0x3f800000, 0x3f800000, 0x7f812345, 0x7fc12345},
  };
  BareWave bare("gfx1201", kNumLanes);
  bare.wave().mode.clamps_nan_to_zero = true;
  for (const BitsCase& row : kCases) check_bits(bare, row);
}

TEST_CASE("MODE's IEEE bit decides what signalling NaNs do to a minimum") {
  BareWave bare("gfx1100", kNumLanes);
  bare.wave().mode.is_ieee = true;
  check_bits(bare, {"v_min_f32_e32 v6, v0, v2", 0x7f800001, 0x3f800000, 0, 0x7fc00001});
  check_bits(bare, {"v_max_f32_e32 v6, v0, v2", 0x3f800000, 0x7f800001, 0, 0x7fc00001});
  check_bits(bare, {"v_max_f32_e32 v6, v0, v2", 0x3f800000, 0x7fc00001, 0, 0x3f800000});
  bare.wave().mode.is_ieee = false;
  check_bits(bare, {"v_min_f32_e32 v6, v0, v2", 0x7f800001, 0x3f800000, 0, 0x3f800000});
  check_bits(bare, {"v_max_f64 v[6:7], v[0:1], v[2:3]", 0x7ff0000000000001, 0x3ff0000000000000, 0, 0x3ff0000000000000});
}

TEST_CASE("the minimum and the maximum of two NaNs are the second up to GFX10, and the first from GFX11 on") {
  BareWave gfx90a("gfx90a", 64), gfx1030("gfx1030", kNumLanes), gfx1100("gfx1100", kNumLanes);
  for (const char* text : {"v_min_f32_e32 v6, v0, v2", "v_max_f32_e32 v6, v0, v2"}) {
    check_bits(gfx90a, {text, 0x7fc00001, 0xffc00002, 0, 0xffc00002});
    check_bits(gfx1030, {text, 0x7fc00001, 0xffc00002, 0, 0xffc00002});
    check_bits(gfx1100, {text, 0x7fc00001, 0xffc00002, 0, 0x7fc00001});
  }
  check_bits(gfx90a,
             {"v_max_f64 v[6:7], v[0:1], v[2:3]", 0x7ff8000000000001, 0x7ff8000000000002, 0, 0x7ff8000000000002});
  check_bits(gfx90a, {"v_med3_f32 v6, v0, v2, v4", 0x7fc00001, 0x7fc00002, 0x7fc00003, 0x7fc00003});
}

TEST_CASE("MODE's rounding holds for sums, products and fused ones") {
  static constexpr int kRounds[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  std::mt19937_64 random(3);
  BareWave bare("gfx1100", kNumLanes);
  for (std::uint8_t round = 0; round < 4; ++round) {
    bare.wave().mode.round_f32 = round;
    bare.wave().mode.round_f16_f64 = static_cast<std::uint8_t>((round + 1) % 4);  // of no concern to f32
    const LaneArray<float> a = sample_lanes<float>(random), b = sample_lanes<float>(random),
                           c = sample_lanes<float>(random);
    set_lanes(bare, 0, a), set_lanes(bare, 1, b), set_lanes(bare, 2, c);
    REQUIRE(bare.run("v_add_f32_e32 v3, v0, v1") == "");
    REQUIRE(bare.run("v_mul_f32_e32 v4, v0, v1") == "");
    REQUIRE(bare.run("v_fma_f32 v5, v0, v1, v2") == "");
    for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) {
      volatile float x = a[lane], y = b[lane], z = c[lane];
      std::fesetround(kRounds[round]);
      volatile float sum = x + y, product = x * y, both = std::fma(x, y, z);
      std::fesetround(FE_TONEAREST);
      CHECK(is_same<float>(lane_value<float>(bare, 3, lane), sum));
      CHECK(is_same<float>(lane_value<float>(bare, 4, lane), product));
      CHECK(is_same<float>(lane_value<float>(bare, 5, lane), both));
    }
  }
  CHECK(std::fegetround() == FE_TONEAREST);
}

TEST_CASE("subnormals count as zeros if MODE says so, and always for v_mad_f32") {
  BareWave bare("gfx90a", 64);
  check_bits(bare, {"v_add_f32_e32 v6, v0, v2", 0x00000001, 0, 0, 1});
  check_bits(bare, {"v_mad_f32 v6, v0, v2, v4", 0x80000001, 0x3f800000, 0x80000000, 0x80000000});
  check_bits(bare, {"v_mad_f32 v6, v0, v2, v4", 0x3f800001, 0x3f800001, 0xbf800002, 0});  // rounds twice
  check_bits(bare, {"v_fma_f32 v6, v0, v2, v4", 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000});
  bare.wave().mode.flushes_f32_inputs = true;
  check_bits(bare, {"v_add_f32_e32 v6, v0, v2", 0x80000001, 0x80000000, 0, 0x80000000});
  check_bits(bare, {"v_add_f64 v[6:7], v[0:1], v[2:3]", 1, 0, 0, 1});
  bare.wave().mode.flushes_f32_inputs = false;
  bare.wave().mode.flushes_f32_results = bare.wave().mode.flushes_f16_f64_results = true;
  check_bits(bare, {"v_mul_f32_e32 v6, v0, v2", 0x80800000, 0x3f000000, 0, 0x80000000});
  check_bits(bare, {"v_add_f64 v[6:7], v[0:1], v[2:3]", 1, 0, 0, 0});
}

TEST_CASE("an undefined bit makes a float undefined, only in its lane") {
  BareWave bare("gfx1100", kNumLanes);
  set_lanes(bare, 0, LaneArray<float>{}), set_lanes(bare, 1, LaneArray<float>{});
  LaneWords undefined;
  undefined.lanes[5] = 1;
  bare.wave().set_undefined(1, 1u << 5, undefined);
  REQUIRE(bare.run("v_add_f32_e32 v2, v0, v1") == "");
  CHECK(bare.wave().undefined_vectors[2].lanes[5] == ~0u);
  CHECK(bare.wave().undefined_vectors[2].lanes[4] == 0);
  REQUIRE(bare.run("v_div_scale_f32 v3, s2, v1, v0, v0") == "");
  CHECK(bare.wave().undefined_vectors[3].lanes[5] == ~0u);
  CHECK(bare.undefined_scalar(2, 1) == 1u << 5);
}

}  // namespace
}  // namespace millrace::isa::test
