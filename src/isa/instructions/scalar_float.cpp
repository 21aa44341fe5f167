// SPDX-License-Identifier: Apache-2.0
// Scalar instructions on f32, from GFX11.5 on.
// Source: RDNA 4 ISA, 16.1 "SOP2", 16.3 "SOP1", 16.4 "SOPC"; RDNA 3.5 ISA, the same.
#include "isa/decode.h"
#include "isa/instructions/float_convert.h"
#include "isa/instructions/float_rows.h"

namespace millrace::isa {
namespace {

constexpr auto kFused = [](f32 a, f32 b, f32 c) { return fused(a, b, c); };
constexpr auto kMin = [](const Wave& wave, f32 a, f32 b) { return min_by_mode(wave, a, b); };
constexpr auto kMax = [](const Wave& wave, f32 a, f32 b) { return max_by_mode(wave, a, b); };

constexpr Row kRows[] = {
    rounded_scalar<[](f32 a, f32 b) { return canonical(a + b, a, b); }>("s_add_f32"),
    rounded_scalar<[](f32 a, f32 b) { return canonical(a - b, a, b); }>("s_sub_f32"),
    rounded_scalar<[](f32 a, f32 b) { return canonical(a * b, a, b); }>("s_mul_f32"),
    rounded_scalar<kFused>("s_fmaak_f32"),
    rounded_scalar<kFused>("s_fmamk_f32"),
    accumulating(rounded_scalar<kFused>("s_fmac_f32")),
    flushed_scalar<kMin>("s_min_f32"),
    flushed_scalar<kMax>("s_max_f32"),
    flushed_scalar<[](f32 a, f32 b) { return min_number(a, b); }>("s_min_num_f32"),
    flushed_scalar<[](f32 a, f32 b) { return max_number(a, b); }>("s_max_num_f32"),
    flushed_scalar<[](f32 a, f32 b) { return minimum(a, b); }>("s_minimum_f32"),
    flushed_scalar<[](f32 a, f32 b) { return maximum(a, b); }>("s_maximum_f32"),

    flushed_scalar<[](f32 x) { return canonical(std::trunc(x), x); }>("s_trunc_f32"),
    flushed_scalar<[](f32 x) { return canonical(std::ceil(x), x); }>("s_ceil_f32"),
    flushed_scalar<[](f32 x) { return canonical(std::floor(x), x); }>("s_floor_f32"),
    flushed_scalar<[](f32 x) { return canonical(std::nearbyint(x), x); }>("s_rndne_f32"),

    rounded_scalar<kFloatOfInt>("s_cvt_f32_i32"),
    rounded_scalar<kFloatOfUnsigned>("s_cvt_f32_u32"),
    scalar<kIntOfFloat>("s_cvt_i32_f32"),
    scalar<kUnsignedOfFloat>("s_cvt_u32_f32"),
    flushed_scalar<kHalfOfFloat>("s_cvt_f16_f32"),
    flushed_scalar<kFloatOfHalf>("s_cvt_f32_f16"),
    scalar<[](const Wave& wave, u32 x) { return to_float(flush_source(wave.mode, f16{static_cast<u16>(x >> 16)})); }>(
        "s_cvt_hi_f32_f16"),
    scalar<kPairOfHalves>("s_cvt_pk_rtz_f16_f32"),

    flushed_scalar<[](f32 a, f32 b) { return a < b; }>("s_cmp_lt_f32"),
    flushed_scalar<[](f32 a, f32 b) { return a == b; }>("s_cmp_eq_f32"),
    flushed_scalar<[](f32 a, f32 b) { return a <= b; }>("s_cmp_le_f32"),
    flushed_scalar<[](f32 a, f32 b) { return b < a; }>("s_cmp_gt_f32"),
    flushed_scalar<[](f32 a, f32 b) { return a < b || b < a; }>("s_cmp_lg_f32"),
    flushed_scalar<[](f32 a, f32 b) { return a >= b; }>("s_cmp_ge_f32"),
    flushed_scalar<[](f32 a, f32 b) { return !is_nan(a) && !is_nan(b); }>("s_cmp_o_f32"),
    flushed_scalar<[](f32 a, f32 b) { return is_nan(a) || is_nan(b); }>("s_cmp_u_f32"),
    flushed_scalar<[](f32 a, f32 b) { return !(a >= b); }>("s_cmp_nge_f32"),
    flushed_scalar<[](f32 a, f32 b) { return !(a < b || b < a); }>("s_cmp_nlg_f32"),
    flushed_scalar<[](f32 a, f32 b) { return !(b < a); }>("s_cmp_ngt_f32"),
    flushed_scalar<[](f32 a, f32 b) { return !(a <= b); }>("s_cmp_nle_f32"),
    flushed_scalar<[](f32 a, f32 b) { return !(a == b); }>("s_cmp_neq_f32"),
    flushed_scalar<[](f32 a, f32 b) { return !(a < b); }>("s_cmp_nlt_f32"),
};

}  // namespace

std::span<const Row> scalar_float_rows() { return kRows; }

}  // namespace millrace::isa
