// SPDX-License-Identifier: Apache-2.0
// Vector instructions on f32 and f64.
// Source: RDNA 3 ISA, 16.7 "VOP2", 16.8 "VOP1", 16.12 "VOP3 & VOP3SD"; CDNA 4 ISA, 12.7, 12.8 and 12.11; RDNA 4
// ISA, 16.7 and 16.12 (minimum and maximum); Vega ISA, 12.7 (v_mac_f32) and 12.12 (v_mad_f32).
#include "isa/decode.h"
#include "isa/instructions/approximate.h"
#include "isa/instructions/division.h"
#include "isa/instructions/float_rows.h"
#include "isa/instructions/fused.h"
#include "isa/workgroup.h"

namespace millrace::isa {
namespace {

template <class T>
constexpr auto kAdd = [](T a, T b) { return canonical(a + b, a, b); };
template <class T>
constexpr auto kSubtract = [](T a, T b) { return canonical(a - b, a, b); };
template <class T>
constexpr auto kSubtractReversed = [](T a, T b) { return canonical(b - a, a, b); };
template <class T>
constexpr auto kMultiply = [](T a, T b) { return canonical(a * b, a, b); };
/// By DirectX 9's rule, zero times anything is zero.
constexpr auto kMultiplyLegacy = [](f32 a, f32 b) { return a == 0 || b == 0 ? 0.0f : canonical(a * b, a, b); };

template <class T>
struct Fused {
  T operator()(T a, T b, T c) const { return fused(a, b, c); }
  void run_all(std::uint32_t num_lanes, const BitsOf<T>* a, const BitsOf<T>* b, const BitsOf<T>* c,
               BitsOf<T>* results) const {
    if constexpr (sizeof(T) == 4) fuse_floats(num_lanes, a, b, c, results);
    if constexpr (sizeof(T) == 8) fuse_doubles(num_lanes, a, b, c, results);
  }
};
template <class T>
constexpr Fused<T> kFused;

/// v_mad_f32 rounds twice, and flushes subnormal sources and results to zero whatever MODE says.
constexpr auto kMultiplyAdd = [](f32 a, f32 b, f32 c) {
  a = without_subnormal(a), b = without_subnormal(b), c = without_subnormal(c);
  return without_subnormal(canonical(without_subnormal(a * b) + c, a, b, c));
};

template <class T>
constexpr auto kMin = [](const Wave& wave, T a, T b) { return min_by_mode(wave, a, b); };
template <class T>
constexpr auto kMax = [](const Wave& wave, T a, T b) { return max_by_mode(wave, a, b); };
constexpr auto kMin3 = [](const Wave& wave, f32 a, f32 b, f32 c) {
  return min_by_mode(wave, min_by_mode(wave, a, b), c);
};
constexpr auto kMax3 = [](const Wave& wave, f32 a, f32 b, f32 c) {
  return max_by_mode(wave, max_by_mode(wave, a, b), c);
};
constexpr auto kMed3 = [](const Wave& wave, f32 a, f32 b, f32 c) {
  return is_nan(a) || is_nan(b) || is_nan(c) ? kMin3(wave, a, b, c) : middle(a, b, c);
};
constexpr auto kMaxMin = [](const Wave& wave, f32 a, f32 b, f32 c) {
  return min_by_mode(wave, max_by_mode(wave, a, b), c);
};
constexpr auto kMinMax = [](const Wave& wave, f32 a, f32 b, f32 c) {
  return max_by_mode(wave, min_by_mode(wave, a, b), c);
};
constexpr auto kMin3Number = [](f32 a, f32 b, f32 c) { return min_number(min_number(a, b), c); };
constexpr auto kMed3Number = [](f32 a, f32 b, f32 c) {
  return is_nan(a) || is_nan(b) || is_nan(c) ? kMin3Number(a, b, c) : middle(a, b, c);
};

std::uint64_t seed_of(const Wave& wave) { return wave.group.dispatch.launch.seed; }

template <class T>
constexpr auto kReciprocal = [](const Wave& wave, T x) { return approximate_reciprocal(x, seed_of(wave)); };
template <class T>
constexpr auto kReciprocalRoot = [](const Wave& wave, T x) { return approximate_reciprocal_root(x, seed_of(wave)); };
template <class T>
constexpr auto kRoot = [](const Wave& wave, T x) { return approximate_root(x, seed_of(wave)); };
constexpr auto kExp2 = [](const Wave& wave, f32 x) { return approximate_exp2(x, seed_of(wave)); };
constexpr auto kLog2 = [](const Wave& wave, f32 x) { return approximate_log2(x, seed_of(wave)); };

template <class T>
constexpr auto kTruncate = [](T x) { return canonical(std::trunc(x), x); };
template <class T>
constexpr auto kCeil = [](T x) { return canonical(std::ceil(x), x); };
template <class T>
constexpr auto kFloor = [](T x) { return canonical(std::floor(x), x); };
/// Rounds as IEEE 754 and LLVM do. The manuals' formula, floor(x + 0.5) and a correction, loses the sign of zero.
template <class T>
constexpr auto kRoundToEven = [](T x) { return canonical(std::nearbyint(x), x); };

template <class T>
constexpr auto kDivFmas = [](const Wave& wave, T a, T b, T c, bool vcc) {
  const bool is_nearest = (sizeof(T) == 4 ? wave.mode.round_f32 : wave.mode.round_f16_f64) == 0;
  return div_fmas(a, b, c, vcc, is_nearest);
};
template <class T>
constexpr auto kDivFixup = [](T a, T b, T c) { return div_fixup(a, b, c); };
template <class T>
constexpr auto kScale = [](T x, i32 exponent) { return scale(x, exponent); };

constexpr Row div_scale_row(const char* name, Handler run, Type type) {
  return {.name = name,
          .kind = Class::kVector,
          .run = run,
          .num_results = 2,
          .types = {type, Type::kMask, type, type, type}};
}

constexpr Row kRows[] = {
    rounded<kAdd<f32>>("v_add_f32"),
    rounded<kAdd<f64>>("v_add_f64"),
    rounded<kSubtract<f32>>("v_sub_f32"),
    rounded<kSubtractReversed<f32>>("v_subrev_f32"),
    rounded<kMultiply<f32>>("v_mul_f32"),
    rounded<kMultiply<f64>>("v_mul_f64"),
    rounded<kMultiplyLegacy>("v_mul_legacy_f32"),
    rounded<kMultiplyLegacy>("v_mul_dx9_zero_f32"),
    rounded<kFused<f32>>("v_fma_f32"),
    rounded<kFused<f64>>("v_fma_f64"),
    rounded<kFused<f32>>("v_fmaak_f32"),
    rounded<kFused<f32>>("v_fmamk_f32"),
    accumulating(rounded<kFused<f32>>("v_fmac_f32")),
    accumulating(rounded<kFused<f64>>("v_fmac_f64")),
    rounded<kMultiplyAdd>("v_mad_f32"),
    rounded<kMultiplyAdd>("v_madak_f32"),
    rounded<kMultiplyAdd>("v_madmk_f32"),
    accumulating(rounded<kMultiplyAdd>("v_mac_f32")),

    flushed<kMin<f32>>("v_min_f32"),
    flushed<kMax<f32>>("v_max_f32"),
    flushed<kMin<f64>>("v_min_f64"),
    flushed<kMax<f64>>("v_max_f64"),
    flushed<kMin3>("v_min3_f32"),
    flushed<kMax3>("v_max3_f32"),
    flushed<kMed3>("v_med3_f32"),
    flushed<kMaxMin>("v_maxmin_f32"),
    flushed<kMinMax>("v_minmax_f32"),
    flushed<[](f32 a, f32 b) { return min_number(a, b); }>("v_min_num_f32"),
    flushed<[](f32 a, f32 b) { return max_number(a, b); }>("v_max_num_f32"),
    flushed<[](f64 a, f64 b) { return min_number(a, b); }>("v_min_num_f64"),
    flushed<[](f64 a, f64 b) { return max_number(a, b); }>("v_max_num_f64"),
    flushed<kMin3Number>("v_min3_num_f32"),
    flushed<[](f32 a, f32 b, f32 c) { return max_number(max_number(a, b), c); }>("v_max3_num_f32"),
    flushed<kMed3Number>("v_med3_num_f32"),
    flushed<[](f32 a, f32 b, f32 c) { return min_number(max_number(a, b), c); }>("v_maxmin_num_f32"),
    flushed<[](f32 a, f32 b, f32 c) { return max_number(min_number(a, b), c); }>("v_minmax_num_f32"),
    flushed<[](f32 a, f32 b) { return minimum(a, b); }>("v_minimum_f32"),
    flushed<[](f32 a, f32 b) { return maximum(a, b); }>("v_maximum_f32"),
    flushed<[](f64 a, f64 b) { return minimum(a, b); }>("v_minimum_f64"),
    flushed<[](f64 a, f64 b) { return maximum(a, b); }>("v_maximum_f64"),
    flushed<[](f32 a, f32 b, f32 c) { return minimum(minimum(a, b), c); }>("v_minimum3_f32"),
    flushed<[](f32 a, f32 b, f32 c) { return maximum(maximum(a, b), c); }>("v_maximum3_f32"),
    flushed<[](f32 a, f32 b, f32 c) { return maximum(minimum(a, b), c); }>("v_minimummaximum_f32"),
    flushed<[](f32 a, f32 b, f32 c) { return minimum(maximum(a, b), c); }>("v_maximumminimum_f32"),

    rounded<kScale<f32>>("v_ldexp_f32"),
    rounded<kScale<f64>>("v_ldexp_f64"),
    flushed<[](f32 x) { return fraction_exponent(x); }>("v_frexp_exp_i32_f32"),
    flushed<[](f64 x) { return fraction_exponent(x); }>("v_frexp_exp_i32_f64"),
    flushed<[](f32 x) { return fraction_mantissa(x); }>("v_frexp_mant_f32"),
    flushed<[](f64 x) { return fraction_mantissa(x); }>("v_frexp_mant_f64"),
    flushed<[](f32 x) { return fraction(x); }>("v_fract_f32"),
    flushed<[](f64 x) { return fraction(x); }>("v_fract_f64"),
    flushed<kTruncate<f32>>("v_trunc_f32"),
    flushed<kTruncate<f64>>("v_trunc_f64"),
    flushed<kCeil<f32>>("v_ceil_f32"),
    flushed<kCeil<f64>>("v_ceil_f64"),
    flushed<kFloor<f32>>("v_floor_f32"),
    flushed<kFloor<f64>>("v_floor_f64"),
    flushed<kRoundToEven<f32>>("v_rndne_f32"),
    flushed<kRoundToEven<f64>>("v_rndne_f64"),

    vector<kReciprocal<f32>>("v_rcp_f32"),
    vector<kReciprocal<f32>>("v_rcp_iflag_f32"),
    vector<kReciprocalRoot<f32>>("v_rsq_f32"),
    vector<kRoot<f32>>("v_sqrt_f32"),
    vector<kExp2>("v_exp_f32"),
    vector<kLog2>("v_log_f32"),
    vector<[](const Wave& wave, f32 x) { return approximate_sine(x, seed_of(wave)); }>("v_sin_f32"),
    vector<[](const Wave& wave, f32 x) { return approximate_cosine(x, seed_of(wave)); }>("v_cos_f32"),
    flushed<kReciprocal<f64>>("v_rcp_f64"),
    flushed<kReciprocalRoot<f64>>("v_rsq_f64"),
    flushed<kRoot<f64>>("v_sqrt_f64"),
    scalar<kReciprocal<f32>>("v_s_rcp_f32"),
    scalar<kReciprocalRoot<f32>>("v_s_rsq_f32"),
    scalar<kRoot<f32>>("v_s_sqrt_f32"),
    scalar<kExp2>("v_s_exp_f32"),
    scalar<kLog2>("v_s_log_f32"),

    div_scale_row("v_div_scale_f32", &run_div_scale<f32>, Type::kF32),
    div_scale_row("v_div_scale_f64", &run_div_scale<f64>, Type::kF64),
    reading_vcc(rounded<kDivFmas<f32>>("v_div_fmas_f32")),
    reading_vcc(rounded<kDivFmas<f64>>("v_div_fmas_f64")),
    flushed<kDivFixup<f32>>("v_div_fixup_f32"),
    flushed<kDivFixup<f64>>("v_div_fixup_f64"),
};

}  // namespace

std::span<const Row> vector_float_rows() { return kRows; }

}  // namespace millrace::isa
