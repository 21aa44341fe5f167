// SPDX-License-Identifier: Apache-2.0
// Instructions on 32- and 64-bit integers and bit patterns.
// Source: RDNA 3 ISA, 16.7 "VOP2", 16.8 "VOP1", 16.12 "VOP3 & VOP3SD"; CDNA 4 ISA, 12.7, 12.8 and 12.11, likewise.
#include "isa/decode.h"
#include "isa/instructions/formula.h"

namespace millrace::isa {
namespace {

// Formulas for plain words and for Known words (known.h).
constexpr auto kAdd = [](auto a, auto b) { return a + b; };
constexpr auto kSub = [](auto a, auto b) { return a - b; };
constexpr auto kSubReversed = [](auto a, auto b) { return b - a; };
constexpr auto kMul = [](auto a, auto b) { return a * b; };
constexpr auto kLesser = [](auto a, auto b) { return lesser(a, b); };
constexpr auto kGreater = [](auto a, auto b) { return greater(a, b); };
constexpr auto kLesserSigned = [](auto a, auto b) { return lesser_signed(a, b); };
constexpr auto kGreaterSigned = [](auto a, auto b) { return greater_signed(a, b); };
constexpr auto kSame = [](auto a) { return a; };

constexpr auto kLow24 = [](auto a) { return a & 0xff'ffffu; };
constexpr auto kSigned24 = [](auto a) { return sign_extend<24>(a); };
constexpr auto kMul24 = [](auto a, auto b) { return kLow24(a) * kLow24(b); };
constexpr auto kMulSigned24 = [](auto a, auto b) { return kSigned24(a) * kSigned24(b); };
constexpr auto kHigh = [](auto a) { return narrow(a >> std::uint64_t{32}); };

/// If any bit is undefined, all bits of the result are.
template <std::uint32_t (*kFunction)(std::uint32_t)>
constexpr Row whole(const char* name) {
  return vector<[](u32 a) { return kFunction(a); }>(name);
}
constexpr std::uint32_t first_from_high(std::uint32_t a) {
  return a == 0 ? ~0u : static_cast<std::uint32_t>(std::countl_zero(a));
}
constexpr std::uint32_t first_from_low(std::uint32_t a) {
  return a == 0 ? ~0u : static_cast<std::uint32_t>(std::countr_zero(a));
}
/// Undefined bits after the first set bit do not matter: setting more bits never increases the count.
template <std::uint32_t (*kFunction)(std::uint32_t)>
constexpr Row count_to_first(const char* name) {
  return vector<[](u32 a) { return kFunction(a); },
                [](const auto& a) { return kFunction(a.lowest()) == kFunction(a.highest()) ? 0u : ~0u; }>(name);
}
/// The position of the first bit below the sign that differs from the sign.
constexpr std::uint32_t first_other_than_sign(std::uint32_t a) { return first_from_high((a >> 31) != 0 ? ~a : a); }

constexpr std::uint32_t reverse(std::uint32_t a) {
  std::uint32_t reversed = 0;
  for (std::uint32_t i = 0; i < 32; ++i) reversed |= (a >> i & 1) << (31 - i);
  return reversed;
}
constexpr Known<std::uint32_t> reverse(Known<std::uint32_t> a) { return {reverse(a.value), reverse(a.undefined)}; }

constexpr std::uint32_t extract_signed(std::uint32_t a, std::uint32_t offset, std::uint32_t width) {
  offset &= 31, width &= 31;
  if (width == 0) return 0;
  return shift_signed(shift_signed(a, offset) << (32 - width), 32 - width);
}
constexpr Known<std::uint32_t> extract_signed(Known<std::uint32_t> a, Known<std::uint32_t> offset,
                                              Known<std::uint32_t> width) {
  if (((offset.undefined | width.undefined) & 31) != 0) return Known<std::uint32_t>::unknown();
  return {extract_signed(a.value, offset.value, width.value), extract_signed(a.undefined, offset.value, width.value)};
}

/// A byte of v_perm_b32: one of the eight bytes of `data`, a sign, or a constant.
constexpr std::uint64_t permuted_byte(std::uint64_t data, std::uint32_t selector) {
  if (selector >= 13) return 0xff;
  if (selector == 12) return 0;
  if (selector >= 8) return (data >> (16 * (selector - 8) + 15) & 1) != 0 ? 0xff : 0;
  return data >> (8 * selector) & 0xff;
}
constexpr std::uint32_t permute(std::uint32_t high, std::uint32_t low, std::uint32_t selectors) {
  std::uint64_t result = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    result |= permuted_byte(std::uint64_t{high} << 32 | low, selectors >> (8 * i) & 0xff) << (8 * i);
  }
  return static_cast<std::uint32_t>(result);
}
constexpr Known<std::uint32_t> permute(Known<std::uint32_t> high, Known<std::uint32_t> low,
                                       Known<std::uint32_t> selectors) {
  std::uint64_t undefined = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t selector = selectors.value >> (8 * i) & 0xff;
    const bool is_any = (selectors.undefined >> (8 * i) & 0xff) != 0;
    const std::uint64_t data = std::uint64_t{high.undefined} << 32 | low.undefined;
    undefined |= (is_any ? 0xff : selector >= 12 ? 0 : permuted_byte(data, selector)) << (8 * i);
  }
  return {permute(high.value, low.value, selectors.value), static_cast<std::uint32_t>(undefined)};
}

/// The 64 bits of two words, shifted right.
constexpr auto kAlign = [](auto high, auto low, auto amount) {
  return narrow((widen(high) << std::uint64_t{32} | widen(low)) >> widen(amount));
};

constexpr std::uint32_t distance(std::uint32_t a, std::uint32_t b) { return a > b ? a - b : b - a; }
constexpr std::uint32_t part(std::uint32_t a, std::uint32_t i, std::uint32_t bits) {
  return a >> (i * bits) & ((1u << bits) - 1);
}
/// The sum of absolute differences of the parts of two words. With `kMasks`, parts that are 0 in b do not count.
template <std::uint32_t kBits, bool kMasks = false>
constexpr std::uint32_t sum_distances(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < 32 / kBits; ++i) {
    if (!kMasks || part(b, i, kBits) != 0) sum += distance(part(a, i, kBits), part(b, i, kBits));
  }
  return sum;
}

template <class To>
constexpr To saturate(std::int64_t value) {
  constexpr std::int64_t kLow = std::numeric_limits<To>::min(), kHighest = std::numeric_limits<To>::max();
  return static_cast<To>(value < kLow ? kLow : value > kHighest ? kHighest : value);
}

template <class T>
constexpr Row add_row(const char* name) {
  return with_clamp(formula<kAdd, u32, u32, u32>(name),
                    vector<[](T a, T b) { return saturate<T>(std::int64_t{a} + std::int64_t{b}); }>(name));
}
template <class T, bool kIsReversed = false>
constexpr Row sub_row(const char* name) {
  constexpr auto kSaturating = [](T a, T b) {
    return saturate<T>(kIsReversed ? std::int64_t{b} - std::int64_t{a} : std::int64_t{a} - std::int64_t{b});
  };
  if constexpr (kIsReversed) return with_clamp(formula<kSubReversed, u32, u32, u32>(name), vector<kSaturating>(name));
  return with_clamp(formula<kSub, u32, u32, u32>(name), vector<kSaturating>(name));
}

constexpr auto kSelect = [](auto a, auto b, auto mask) { return choose(mask, b, a); };
struct Select {
  u32 operator()(u32 a, u32 b, bool is_second) const { return is_second ? b : a; }
  void run_all(std::uint32_t num_lanes, const u32* a, const u32* b, const u32* mask, u32* results) const {
    for_all_lanes(num_lanes, [&](std::size_t i) { results[i] = a[i] ^ ((a[i] ^ b[i]) & (0 - mask[i])); });
  }
};

// If an operation has two names, the first is the one of GFX9, and the second the one of GFX10 and later.
constexpr Row kArithmetic[] = {
    add_row<u32>("v_add_u32"),
    add_row<u32>("v_add_nc_u32"),
    sub_row<u32>("v_sub_u32"),
    sub_row<u32>("v_sub_nc_u32"),
    sub_row<u32, true>("v_subrev_u32"),
    sub_row<u32, true>("v_subrev_nc_u32"),
    add_row<i32>("v_add_i32"),
    add_row<i32>("v_add_nc_i32"),
    sub_row<i32>("v_sub_i32"),
    sub_row<i32>("v_sub_nc_i32"),
    formula<[](auto a, auto b, auto c) { return a + b + c; }, u32, u32, u32, u32>("v_add3_u32"),
    formula<[](auto a, auto b, auto c) { return (a + b) << (c & 31u); }, u32, u32, u32, u32>("v_add_lshl_u32"),
    formula<[](auto a, auto b, auto c) { return (a << (b & 31u)) + c; }, u32, u32, u32, u32>("v_lshl_add_u32"),
    formula<[](auto a, auto b, auto c) { return (a << widen(b & 7u)) + c; }, u64, u64, u32, u64>("v_lshl_add_u64"),
    formula<[](auto a, auto b, auto c) { return (a ^ b) + c; }, u32, u32, u32, u32>("v_xad_u32"),
    formula<kMul, u32, u32, u32>("v_mul_lo_u32"),
    formula<[](auto a, auto b) { return kHigh(widen(a) * widen(b)); }, u32, u32, u32>("v_mul_hi_u32"),
    formula<[](auto a, auto b) { return kHigh(widen_signed(a) * widen_signed(b)); }, u32, u32, u32>("v_mul_hi_i32"),
    formula<kMul24, u32, u32, u32>("v_mul_u32_u24"),
    formula<kMulSigned24, u32, u32, u32>("v_mul_i32_i24"),
    formula<[](auto a, auto b) { return kHigh(widen(kLow24(a)) * widen(kLow24(b))); }, u32, u32, u32>(
        "v_mul_hi_u32_u24"),
    formula<[](auto a, auto b) { return kHigh(widen_signed(kSigned24(a)) * widen_signed(kSigned24(b))); }, u32, u32,
            u32>("v_mul_hi_i32_i24"),
    formula<[](auto a, auto b, auto c) { return kMul24(a, b) + c; }, u32, u32, u32, u32>("v_mad_u32_u24"),
    formula<[](auto a, auto b, auto c) { return kMulSigned24(a, b) + c; }, u32, u32, u32, u32>("v_mad_i32_i24"),
    formula<[](auto a, auto b, auto c) { return a * b + c; }, u32, u16, u16, u32>("v_mad_u32_u16"),
    formula<[](auto a, auto b, auto c) { return a * b + c; }, u32, i16, i16, u32>("v_mad_i32_i16"),
    vector<[](u32 a, u32 b, u32 c) { return sum_distances<8>(a, b) + c; }>("v_sad_u8"),
    vector<[](u32 a, u32 b, u32 c) { return (sum_distances<8>(a, b) << 16) + c; }>("v_sad_hi_u8"),
    vector<[](u32 a, u32 b, u32 c) { return sum_distances<8, true>(a, b) + c; }>("v_msad_u8"),
    vector<[](u32 a, u32 b, u32 c) { return sum_distances<16>(a, b) + c; }>("v_sad_u16"),
    vector<[](u32 a, u32 b, u32 c) { return distance(a, b) + c; }>("v_sad_u32")};

constexpr Row kOrders[] = {
    formula<kLesser, u32, u32, u32>("v_min_u32"),
    formula<kGreater, u32, u32, u32>("v_max_u32"),
    formula<kLesserSigned, u32, u32, u32>("v_min_i32"),
    formula<kGreaterSigned, u32, u32, u32>("v_max_i32"),
    formula<[](auto a, auto b, auto c) { return lesser(lesser(a, b), c); }, u32, u32, u32, u32>("v_min3_u32"),
    formula<[](auto a, auto b, auto c) { return greater(greater(a, b), c); }, u32, u32, u32, u32>("v_max3_u32"),
    formula<[](auto a, auto b, auto c) { return lesser_signed(lesser_signed(a, b), c); }, u32, u32, u32, u32>(
        "v_min3_i32"),
    formula<[](auto a, auto b, auto c) { return greater_signed(greater_signed(a, b), c); }, u32, u32, u32, u32>(
        "v_max3_i32"),
    formula<[](auto a, auto b, auto c) { return greater(lesser(a, b), lesser(greater(a, b), c)); }, u32, u32, u32, u32>(
        "v_med3_u32"),
    formula<[](auto a, auto b, auto c) {
      return greater_signed(lesser_signed(a, b), lesser_signed(greater_signed(a, b), c));
    },
            u32, u32, u32, u32>("v_med3_i32"),
    formula<[](auto a, auto b, auto c) { return lesser(greater(a, b), c); }, u32, u32, u32, u32>("v_maxmin_u32"),
    formula<[](auto a, auto b, auto c) { return greater(lesser(a, b), c); }, u32, u32, u32, u32>("v_minmax_u32"),
    formula<[](auto a, auto b, auto c) { return lesser_signed(greater_signed(a, b), c); }, u32, u32, u32, u32>(
        "v_maxmin_i32"),
    formula<[](auto a, auto b, auto c) { return greater_signed(lesser_signed(a, b), c); }, u32, u32, u32, u32>(
        "v_minmax_i32")};

constexpr Row kBits[] = {
    formula<kSame, u32, u32>("v_mov_b32"),
    formula<kSame, u64, u64>("v_mov_b64"),
    vector<Select{}, detail::kUndefinedOf<kSelect, u32, u32, bool>>("v_cndmask_b32"),
    formula<[](auto a) { return ~a; }, u32, u32>("v_not_b32"),
    formula<[](auto a, auto b) { return a & b; }, u32, u32, u32>("v_and_b32"),
    formula<[](auto a, auto b) { return a | b; }, u32, u32, u32>("v_or_b32"),
    formula<[](auto a, auto b) { return a ^ b; }, u32, u32, u32>("v_xor_b32"),
    formula<[](auto a, auto b) { return ~(a ^ b); }, u32, u32, u32>("v_xnor_b32"),
    formula<[](auto a, auto b, auto c) { return (a & b) | c; }, u32, u32, u32, u32>("v_and_or_b32"),
    formula<[](auto a, auto b, auto c) { return a | b | c; }, u32, u32, u32, u32>("v_or3_b32"),
    formula<[](auto a, auto b, auto c) { return a ^ b ^ c; }, u32, u32, u32, u32>("v_xor3_b32"),
    formula<[](auto a, auto b, auto c) { return (a << (b & 31u)) | c; }, u32, u32, u32, u32>("v_lshl_or_b32"),
    formula<[](auto amount, auto a) { return a << (amount & 31u); }, u32, u32, u32>("v_lshlrev_b32"),
    formula<[](auto amount, auto a) { return (a >> (amount & 31u)); }, u32, u32, u32>("v_lshrrev_b32"),
    formula<[](auto amount, auto a) { return shift_signed(a, amount & 31u); }, u32, u32, u32>("v_ashrrev_i32"),
    formula<[](auto amount, auto a) { return a << widen(amount & 63u); }, u64, u32, u64>("v_lshlrev_b64"),
    formula<[](auto amount, auto a) { return (a >> widen(amount & 63u)); }, u64, u32, u64>("v_lshrrev_b64"),
    formula<[](auto amount, auto a) { return shift_signed(a, widen(amount & 63u)); }, i64, u32, i64>("v_ashrrev_i64"),
    formula<[](auto a, auto offset, auto width) {
      const decltype(a) one = 1u;
      return (a >> (offset & 31u)) & ((one << (width & 31u)) - 1u);
    },
            u32, u32, u32, u32>("v_bfe_u32"),
    formula<[](auto a, auto offset, auto width) { return extract_signed(a, offset, width); }, u32, u32, u32, u32>(
        "v_bfe_i32"),
    formula<[](auto mask, auto a, auto b) { return choose(mask, a, b); }, u32, u32, u32, u32>("v_bfi_b32"),
    vector<[](u32 width, u32 offset) { return ((1u << (width & 31)) - 1) << (offset & 31); }>("v_bfm_b32"),
    formula<[](auto a) { return reverse(a); }, u32, u32>("v_bfrev_b32"),
    formula<[](auto a, auto b, auto selectors) { return permute(a, b, selectors); }, u32, u32, u32, u32>("v_perm_b32"),
    formula<[](auto a, auto b, auto c) { return kAlign(a, b, c & 31u); }, u32, u32, u32, u32>("v_alignbit_b32"),
    formula<[](auto a, auto b, auto c) { return kAlign(a, b, (c & 3u) * 8u); }, u32, u32, u32, u32>("v_alignbyte_b32"),
    formula<[](auto a, auto b) { return count_bits(a) + b; }, u32, u32, u32>("v_bcnt_u32_b32"),
    count_to_first<first_from_high>("v_ffbh_u32"),
    count_to_first<first_from_high>("v_clz_i32_u32"),
    whole<first_other_than_sign>("v_ffbh_i32"),
    whole<first_other_than_sign>("v_cls_i32"),
    count_to_first<first_from_low>("v_ffbl_b32"),
    count_to_first<first_from_low>("v_ctz_i32_b32")};

}  // namespace

std::span<const Row> vector_integer_rows() {
  static const std::vector<Row> kRows = [] {
    std::vector<Row> rows;
    for (const std::span<const Row> part :
         {std::span<const Row>(kArithmetic), std::span<const Row>(kOrders), std::span<const Row>(kBits)}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return kRows;
}

}  // namespace millrace::isa
