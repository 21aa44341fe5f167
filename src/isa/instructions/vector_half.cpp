// SPDX-License-Identifier: Apache-2.0
// Instructions on 16-bit integers.
// Source: RDNA 3 ISA, 16.8 "VOP1" and 16.12 "VOP3 & VOP3SD"; CDNA 4 ISA, 12.7 "VOP2" and 12.11.
#include "isa/decode.h"
#include "isa/instructions/formula.h"

namespace millrace::isa {
namespace {

constexpr auto kAdd = [](auto a, auto b) { return a + b; };
constexpr auto kSub = [](auto a, auto b) { return a - b; };
constexpr auto kSubReversed = [](auto a, auto b) { return b - a; };
constexpr auto kMulAdd = [](auto a, auto b, auto c) { return a * b + c; };
// Sources are extended to 32 bits, with zeros or with their sign, so the signed order of words is right for both types.
constexpr auto kLesser = [](auto a, auto b) { return lesser_signed(a, b); };
constexpr auto kGreater = [](auto a, auto b) { return greater_signed(a, b); };
constexpr auto kMin3 = [](auto a, auto b, auto c) { return lesser_signed(lesser_signed(a, b), c); };
constexpr auto kMax3 = [](auto a, auto b, auto c) { return greater_signed(greater_signed(a, b), c); };
constexpr auto kMiddle = [](auto a, auto b, auto c) {
  return greater_signed(lesser_signed(a, b), lesser_signed(greater_signed(a, b), c));
};
constexpr auto kShiftLeft = [](auto amount, auto a) { return a << (amount & 15u); };
constexpr auto kShiftRight = [](auto amount, auto a) { return a >> (amount & 15u); };
constexpr auto kShiftRightSigned = [](auto amount, auto a) { return shift_signed(a, amount & 15u); };

template <class T>
constexpr T saturate(std::int64_t value) {
  constexpr std::int64_t kLowest = std::numeric_limits<T>::min(), kHighest = std::numeric_limits<T>::max();
  return static_cast<T>(value < kLowest ? kLowest : value > kHighest ? kHighest : value);
}
template <class T>
constexpr Row add_row(const char* name) {
  return with_clamp(formula<kAdd, T, T, T>(name),
                    vector<[](T a, T b) { return saturate<T>(std::int64_t{a} + b); }>(name));
}
template <class T>
constexpr Row sub_row(const char* name) {
  return with_clamp(formula<kSub, T, T, T>(name),
                    vector<[](T a, T b) { return saturate<T>(std::int64_t{a} - b); }>(name));
}
template <class T>
constexpr Row mad_row(const char* name) {
  return with_clamp(formula<kMulAdd, T, T, T, T>(name),
                    vector<[](T a, T b, T c) { return saturate<T>(std::int64_t{a} * b + c); }>(name));
}

/// Marks an instruction that GFX9 introduced; see Row::keeps_other_half.
constexpr Row new_in_gfx9(Row row) {
  row.keeps_other_half = true;
  return row;
}

constexpr Row kRows[] = {
    // GFX9's names, then those of GFX10 and later.
    add_row<u16>("v_add_u16"), add_row<u16>("v_add_nc_u16"), sub_row<u16>("v_sub_u16"), sub_row<u16>("v_sub_nc_u16"),
    formula<kSubReversed, u16, u16, u16>("v_subrev_u16"), new_in_gfx9(add_row<i16>("v_add_i16")),
    add_row<i16>("v_add_nc_i16"), new_in_gfx9(sub_row<i16>("v_sub_i16")), sub_row<i16>("v_sub_nc_i16"),
    formula<[](auto a, auto b) { return a * b; }, u16, u16, u16>("v_mul_lo_u16"),
    // The legacy names are GFX8's.
    mad_row<u16>("v_mad_legacy_u16"), mad_row<i16>("v_mad_legacy_i16"), new_in_gfx9(mad_row<u16>("v_mad_u16")),
    new_in_gfx9(mad_row<i16>("v_mad_i16")), formula<kShiftLeft, u16, u16, u16>("v_lshlrev_b16"),
    formula<kShiftRight, u16, u16, u16>("v_lshrrev_b16"), formula<kShiftRightSigned, i16, u16, i16>("v_ashrrev_i16"),
    formula<kLesser, u16, u16, u16>("v_min_u16"), formula<kGreater, u16, u16, u16>("v_max_u16"),
    formula<kLesser, i16, i16, i16>("v_min_i16"), formula<kGreater, i16, i16, i16>("v_max_i16"),
    new_in_gfx9(formula<kMin3, u16, u16, u16, u16>("v_min3_u16")),
    new_in_gfx9(formula<kMax3, u16, u16, u16, u16>("v_max3_u16")),
    new_in_gfx9(formula<kMiddle, u16, u16, u16, u16>("v_med3_u16")),
    new_in_gfx9(formula<kMin3, i16, i16, i16, i16>("v_min3_i16")),
    new_in_gfx9(formula<kMax3, i16, i16, i16, i16>("v_max3_i16")),
    new_in_gfx9(formula<kMiddle, i16, i16, i16, i16>("v_med3_i16")),
    // From GFX11 on.
    formula<[](auto a, auto b) { return a & b; }, u16, u16, u16>("v_and_b16"),
    formula<[](auto a, auto b) { return a | b; }, u16, u16, u16>("v_or_b16"),
    formula<[](auto a, auto b) { return a ^ b; }, u16, u16, u16>("v_xor_b16"),
    formula<[](auto a) { return ~a; }, u16, u16>("v_not_b16"), formula<[](auto a) { return a; }, u16, u16>("v_mov_b16"),
    formula<[](auto a, auto b, auto mask) { return choose(mask, b, a); }, u16, u16, u16, bool>("v_cndmask_b16")};

}  // namespace

std::span<const Row> vector_half_rows() { return kRows; }

}  // namespace millrace::isa
