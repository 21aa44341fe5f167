// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic with a carry per lane.
// Source: RDNA 3 ISA and RDNA 4 ISA, 16.7 "VOP2" and 16.12 "VOP3 & VOP3SD"; CDNA 4 ISA, 12.7 and 12.11.
#include "isa/decode.h"
#include "isa/instructions/formula.h"

namespace millrace::isa {
namespace {

using K32 = Known<u32>;

/// A lane of a mask is 0 or ~0.
constexpr u32 carry_bit(u32 mask) { return mask & 1; }

constexpr bool add_carries(u32 a, u32 b, u32 carry) {
  const u32 sum = a + b;
  return sum < a || sum + carry_bit(carry) < sum;
}
constexpr WithCarry<u32> add(u32 a, u32 b, u32 carry) { return {a + b + carry_bit(carry), add_carries(a, b, carry)}; }
/// The carry is defined if the minimum and the maximum of the sources give the same carry.
constexpr WithCarry<K32> add(K32 a, K32 b, K32 carry) {
  return {a + b + (carry & 1u), add_carries(a.lowest(), b.lowest(), carry.lowest()) !=
                                    add_carries(a.highest(), b.highest(), carry.highest())};
}

constexpr bool sub_borrows(u32 a, u32 b, u32 borrow) { return a < b || a - b < carry_bit(borrow); }
constexpr WithCarry<u32> sub(u32 a, u32 b, u32 borrow) {
  return {a - b - carry_bit(borrow), sub_borrows(a, b, borrow)};
}
constexpr WithCarry<K32> sub(K32 a, K32 b, K32 borrow) {
  return {a - b - (borrow & 1u), sub_borrows(a.lowest(), b.highest(), borrow.highest()) !=
                                     sub_borrows(a.highest(), b.lowest(), borrow.lowest())};
}

/// The sum has 65 bits, and the carry is the highest one. Signed numbers are extended to 65 bits by copying their sign.
template <bool kIsSigned>
constexpr WithCarry<u64> multiply_add(u32 a, u32 b, u64 c) {
  const u64 product = kIsSigned ? widen_signed(a) * widen_signed(b) : widen(a) * widen(b);
  const u64 sum = product + c;
  const bool signs = kIsSigned && ((product ^ c) >> 63) != 0;
  return {sum, (sum < c) != signs};
}
template <bool kIsSigned>
constexpr WithCarry<Known<u64>> multiply_add(K32 a, K32 b, Known<u64> c) {
  const Known<u64> product = kIsSigned ? widen_signed(a) * widen_signed(b) : widen(a) * widen(b);
  return {product + c, (a.undefined | b.undefined | c.undefined) != 0};
}

constexpr auto kAdd = [](auto a, auto b) { return add(a, b, 0u); };
constexpr auto kSub = [](auto a, auto b) { return sub(a, b, 0u); };
constexpr auto kSubReversed = [](auto a, auto b) { return sub(b, a, 0u); };
constexpr auto kAddCarry = [](auto a, auto b, auto carry) { return add(a, b, carry); };
constexpr auto kSubCarry = [](auto a, auto b, auto carry) { return sub(a, b, carry); };
constexpr auto kSubReversedCarry = [](auto a, auto b, auto carry) { return sub(b, a, carry); };
constexpr auto kMad = [](auto a, auto b, auto c) { return multiply_add<false>(a, b, c); };
constexpr auto kMadSigned = [](auto a, auto b, auto c) { return multiply_add<true>(a, b, c); };

constexpr Row kRows[] = {carrying<kAdd, u32, u32, u32>("v_add_co_u32"), carrying<kSub, u32, u32, u32>("v_sub_co_u32"),
                         carrying<kSubReversed, u32, u32, u32>("v_subrev_co_u32"),
                         // GFX9's names, then those of GFX10 and later.
                         carrying<kAddCarry, u32, u32, u32, bool>("v_addc_co_u32"),
                         carrying<kAddCarry, u32, u32, u32, bool>("v_add_co_ci_u32"),
                         carrying<kSubCarry, u32, u32, u32, bool>("v_subb_co_u32"),
                         carrying<kSubCarry, u32, u32, u32, bool>("v_sub_co_ci_u32"),
                         carrying<kSubReversedCarry, u32, u32, u32, bool>("v_subbrev_co_u32"),
                         carrying<kSubReversedCarry, u32, u32, u32, bool>("v_subrev_co_ci_u32"),
                         // Names up to GFX11, and GFX12's.
                         carrying<kMad, u64, u32, u32, u64>("v_mad_u64_u32"),
                         carrying<kMad, u64, u32, u32, u64>("v_mad_co_u64_u32"),
                         carrying<kMadSigned, i64, u32, u32, i64>("v_mad_i64_i32"),
                         carrying<kMadSigned, i64, u32, u32, i64>("v_mad_co_i64_i32")};

}  // namespace

std::span<const Row> vector_carry_rows() { return kRows; }

}  // namespace millrace::isa
