// SPDX-License-Identifier: Apache-2.0
// Vector conversions between floats and integers.
// Source: RDNA 3 ISA, 16.8 "VOP1", 16.7 (V_CVT_PK_RTZ_F16_F32) and 16.12 (V_CVT_PK_*); CDNA 4 ISA, 12.7, 12.8
// and 12.11.
#include <algorithm>

#include "isa/decode.h"
#include "isa/instructions/float_convert.h"
#include "isa/instructions/float_rows.h"

namespace millrace::isa {
namespace {

template <u32 kByte>
constexpr auto kFloatOfByte = [](u32 x) { return static_cast<f32>(x >> (8 * kByte) & 0xff); };
/// The result is undefined if any bit of the converted byte is.
template <u32 kByte>
constexpr auto kUndefinedByte = [](const auto& x) { return (x.undefined >> (8 * kByte) & 0xff) != 0 ? ~0u : 0u; };

constexpr auto kFloorToInt = [](f32 x) { return saturate<i32>(std::floor(x)); };
constexpr auto kNearestToInt = [](f32 x) { return saturate<i32>(std::floor(x + 0.5f)); };

constexpr u32 pack(u32 low, u32 high) { return (low & 0xffff) | high << 16; }
constexpr auto kPackInts = [](i32 low, i32 high) {
  return pack(static_cast<u32>(std::clamp(low, -32768, 32767)), static_cast<u32>(std::clamp(high, -32768, 32767)));
};
constexpr auto kPackUnsigned = [](u32 low, u32 high) { return pack(std::min(low, 65535u), std::min(high, 65535u)); };
constexpr auto kPackIntsOfFloats = [](f32 low, f32 high) {
  return pack(static_cast<u32>(saturate<i16>(low)), static_cast<u32>(saturate<i16>(high)));
};
constexpr auto kPackUnsignedOfFloats = [](f32 low, f32 high) { return pack(saturate<u16>(low), saturate<u16>(high)); };
/// Each half of the result depends on one source.
constexpr auto kUndefinedHalves = [](const auto& low, const auto& high) {
  return (low.undefined != 0 ? 0xffffu : 0u) | (high.undefined != 0 ? 0xffff'0000u : 0u);
};

template <u32 kByte>
constexpr Row float_of_byte(const char* name) {
  return vector<kFloatOfByte<kByte>, kUndefinedByte<kByte>>(name);
}

constexpr Row kRows[] = {
    rounded<[](f64 x) { return to_float(x); }>("v_cvt_f32_f64"),
    flushed<[](f32 x) { return to_double(x); }>("v_cvt_f64_f32"),
    rounded<kFloatOfInt>("v_cvt_f32_i32"),
    rounded<kFloatOfUnsigned>("v_cvt_f32_u32"),
    vector<[](i32 x) { return static_cast<f64>(x); }>("v_cvt_f64_i32"),
    vector<[](u32 x) { return static_cast<f64>(x); }>("v_cvt_f64_u32"),
    float_of_byte<0>("v_cvt_f32_ubyte0"),
    float_of_byte<1>("v_cvt_f32_ubyte1"),
    float_of_byte<2>("v_cvt_f32_ubyte2"),
    float_of_byte<3>("v_cvt_f32_ubyte3"),
    vector<kIntOfFloat>("v_cvt_i32_f32"),
    vector<kUnsignedOfFloat>("v_cvt_u32_f32"),
    vector<[](f64 x) { return saturate<i32>(x); }>("v_cvt_i32_f64"),
    vector<[](f64 x) { return saturate<u32>(x); }>("v_cvt_u32_f64"),
    vector<kFloorToInt>("v_cvt_flr_i32_f32"),
    vector<kFloorToInt>("v_cvt_floor_i32_f32"),
    vector<kNearestToInt>("v_cvt_rpi_i32_f32"),
    vector<kNearestToInt>("v_cvt_nearest_i32_f32"),
    vector<[](u32 x) { return static_cast<f32>(static_cast<i32>(x << 28) >> 28) / 16; }>("v_cvt_off_f32_i4"),

    flushed<kHalfOfFloat>("v_cvt_f16_f32"),
    flushed<kFloatOfHalf>("v_cvt_f32_f16"),
    vector<[](const Wave& wave, u16 x) { return to_half(x, wave.mode.round_f16_f64); }>("v_cvt_f16_u16"),
    vector<[](const Wave& wave, i16 x) { return to_half(x, wave.mode.round_f16_f64); }>("v_cvt_f16_i16"),
    vector<[](f16 x) { return saturate<u16>(to_float(x)); }>("v_cvt_u16_f16"),
    vector<[](f16 x) { return saturate<i16>(to_float(x)); }>("v_cvt_i16_f16"),
    vector<[](i16 x) { return static_cast<i32>(x); }>("v_cvt_i32_i16"),
    vector<[](u16 x) { return static_cast<u32>(x); }>("v_cvt_u32_u16"),

    vector<kPairOfHalves, kUndefinedHalves>("v_cvt_pkrtz_f16_f32"),
    vector<kPairOfHalves, kUndefinedHalves>("v_cvt_pk_rtz_f16_f32"),
    vector<kPackInts, kUndefinedHalves>("v_cvt_pk_i16_i32"),
    vector<kPackUnsigned, kUndefinedHalves>("v_cvt_pk_u16_u32"),
    vector<kPackIntsOfFloats, kUndefinedHalves>("v_cvt_pk_i16_f32"),
    vector<kPackUnsignedOfFloats, kUndefinedHalves>("v_cvt_pk_u16_f32"),
};

}  // namespace

std::span<const Row> vector_convert_rows() { return kRows; }

}  // namespace millrace::isa
