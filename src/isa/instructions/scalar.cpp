// SPDX-License-Identifier: Apache-2.0
// Scalar arithmetic: SOP1, SOP2, SOPC, SOPK.
// Source: RDNA 3 ISA and RDNA 4 ISA, 16.1 to 16.4; CDNA 4 ISA, 12.1 to 12.4.
#include "isa/instructions/scalar.h"

#include <algorithm>
#include <bit>

#include "isa/decode.h"

namespace millrace::isa {
namespace {

// Rules for undefined bits. For example, a bit of an AND is defined if either source has a defined 0 there.

constexpr auto kAnd = [](auto a, auto b) {
  return (a.undefined & b.undefined) | (a.undefined & b.value) | (b.undefined & a.value);
};
constexpr auto kOr = [](auto a, auto b) {
  return (a.undefined & b.undefined) | (a.undefined & ~b.value) | (b.undefined & ~a.value);
};
constexpr auto kAndNot = [](auto a, auto b) {
  return (a.undefined & b.undefined) | (a.undefined & ~b.value) | (b.undefined & a.value);
};
constexpr auto kOrNot = [](auto a, auto b) {
  return (a.undefined & b.undefined) | (a.undefined & b.value) | (b.undefined & ~a.value);
};
constexpr auto kNotAnd = [](auto a, auto b) { return kAndNot(b, a); };
/// A shift by a defined amount moves the undefined bits too.
template <auto kShift>
constexpr auto kShifted = [](auto a, auto amount) {
  using Bits = decltype(a.undefined);
  if (amount.undefined != 0) return static_cast<Bits>(~Bits{0});
  return kShift(a.undefined, static_cast<u32>(amount.value) & (8 * sizeof(Bits) - 1));
};
constexpr auto kLeft = kShifted<[](auto bits, u32 n) { return bits << n; }>;
constexpr auto kRight = kShifted<[](auto bits, u32 n) { return (bits >> n); }>;
constexpr auto kArithmeticRight = kShifted<[](auto bits, u32 n) {
  return static_cast<decltype(bits)>(static_cast<std::make_signed_t<decltype(bits)>>(bits) >> n);
}>;

template <class T>
constexpr WithScc<T> with_nonzero(T value) {
  return {value, value != 0};
}

constexpr u32 sign_extend(u32 constant) { return static_cast<u32>(static_cast<i16>(constant)); }

WithScc<u32> add_unsigned(u32 a, u32 b) { return {a + b, a + b < a}; }
WithScc<u32> add_signed(u32 a, u32 b) {
  const u32 sum = a + b;
  return {sum, (~(a ^ b) & (a ^ sum)) >> 31 != 0};
}
WithScc<u32> subtract_unsigned(u32 a, u32 b) { return {a - b, b > a}; }
WithScc<u32> subtract_signed(u32 a, u32 b) {
  const u32 difference = a - b;
  return {difference, ((a ^ b) & (a ^ difference)) >> 31 != 0};
}

/// A bit field: the lower half of the descriptor is its offset (five or six bits), bits 16 to 22 are its width. The
/// manuals do not define a width greater than the value's; here it gives all bits from the offset on.
template <class T>
T extract(T value, u32 field) {
  const u32 bits = 8 * sizeof(T), offset = field & (bits - 1), width = field >> 16 & 0x7f;
  if (width == 0) return 0;
  const T shifted = static_cast<T>(value >> offset);
  if (width >= bits) return shifted;
  const u32 rest = bits - width;
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<T>(static_cast<Unsigned>(shifted) << rest) >> rest);
}

template <class T>
i32 find_first_set(T value) {
  return value == 0 ? -1 : std::countr_zero(value);
}
template <class T>
i32 count_leading_zeros(T value) {
  return value == 0 ? -1 : std::countl_zero(value);
}
/// The number of leading bits that equal the sign bit, which is counted too; -1 if all bits are equal.
template <class T>
i32 count_leading_signs(T value) {
  const T flipped = value >> (8 * sizeof(T) - 1) != 0 ? static_cast<T>(~value) : value;
  return flipped == 0 ? -1 : std::countl_zero(flipped);
}

WithScc<u32> with_carry(u64 sum) { return {static_cast<u32>(sum), sum >> 32 != 0}; }
WithScc<u32> add_carry(u32 a, u32 b, bool carry) { return with_carry(u64{a} + b + carry); }
WithScc<u32> subtract_borrow(u32 a, u32 b, bool borrow) { return with_carry(u64{a} - b - borrow); }

/// The count is defined if it is the same with all undefined bits 0 and with all of them 1: setting more bits never
/// increases it.
template <auto kCount>
constexpr auto kToFirst = [](const auto& a) { return kCount(a.lowest()) == kCount(a.highest()) ? 0u : ~0u; };

template <class T>
T reverse_bits(T value) {
  constexpr int kBits = 8 * sizeof(T);
  T reversed = 0;
  for (int i = 0; i < kBits; ++i) reversed |= (value >> i & 1) << (kBits - 1 - i);
  return reversed;
}

/// The undefined bits move like the bits of the sources.
template <auto kMove>
constexpr auto kMoved = [](const auto&... source) { return kMove(source.undefined...); };
template <class T>
constexpr auto kExtract = [](const auto& a, const auto& field) {
  using Bits = decltype(a.value);
  return field.undefined != 0 ? ~Bits{0} : static_cast<Bits>(extract(static_cast<T>(a.undefined), field.value));
};
template <u32 kMask>
constexpr auto kBit = [](const auto& a, const auto& bit) {
  return bit.undefined != 0 ? 1u : static_cast<u32>(a.undefined >> (bit.value & kMask) & 1);
};

template <auto kOp, auto kRule, std::uint16_t kWords>
constexpr Row saveexec(const char* name) {
  return {.name = name,
          .kind = Class::kScalar,
          .run =
              [](Wave& wave, const Instruction& instruction) {
                const Operand exec{.kind = OperandKind::kScalar, .first = kExec, .count = kWords};
                const u64 bits = kWords == 2 ? ~u64{0} : 0xffff'ffff;
                const Known<u64> a{wave.read_scalar(instruction.source(0)), wave.undefined_bits(instruction.source(0))};
                const Known<u64> b{wave.read_scalar(exec), 0};
                const u64 result = kOp(a.value, b.value) & bits;
                wave.write_scalar(instruction.result(), b.value);
                wave.write_scalar(exec, result, kRule(a, b) & bits);
                wave.scc = result != 0;
                wave.is_scc_undefined = false;
              },
          .num_results = 1,
          .types = {kWords == 2 ? Type::kB64 : Type::kB32, kWords == 2 ? Type::kB64 : Type::kB32}};
}

/// A comparison with a 16-bit constant, which is sign- or zero-extended.
template <auto kOp, class T>
constexpr Row compare_constant(const char* name) {
  return scalar<[](u32 a, u32 constant) {
    return kOp(static_cast<T>(a),
               static_cast<T>(static_cast<std::conditional_t<std::is_signed_v<T>, i16, u16>>(constant)));
  }>(name);
}

// The 32- and the 64-bit row of an operation.
#define BITWISE_ROWS(name, expression, rule)                                             \
  scalar<[](u32 a, u32 b) { return with_nonzero<u32>(expression); }, rule>(name "_b32"), \
      scalar<[](u64 a, u64 b) { return with_nonzero<u64>(expression); }, rule>(name "_b64")
#define COMPARE_ROWS(condition, op)                                                             \
  scalar<[](i32 a, i32 b) { return (a op b); }>("s_cmp_" condition "_i32"),                     \
      scalar<[](u32 a, u32 b) { return (a op b); }>("s_cmp_" condition "_u32"),                 \
      compare_constant<[](i32 a, i32 b) { return (a op b); }, i32>("s_cmpk_" condition "_i32"), \
      compare_constant<[](u32 a, u32 b) { return (a op b); }, u32>("s_cmpk_" condition "_u32")
// The result is EXEC's old value. EXEC's new value is `expression` of the source a and the old value b.
#define SAVEEXEC_ROWS(name, expression, rule)                                       \
  saveexec<[](u64 a, u64 b) { return expression; }, rule, 1>(name "_saveexec_b32"), \
      saveexec<[](u64 a, u64 b) { return expression; }, rule, 2>(name "_saveexec_b64")

constexpr Row kRows[] = {
    scalar<[](u32 a) { return a; }, kBitByBit>("s_mov_b32"),
    scalar<[](u64 a) { return a; }, kBitByBit>("s_mov_b64"),
    scalar<[](u32 a) { return static_cast<i32>(static_cast<i16>(a)); }, kBitByBit>("s_movk_i32"),
    scalar<[](u32 a) { return with_nonzero(~a); }, kBitByBit>("s_not_b32"),
    scalar<[](u64 a) { return with_nonzero(~a); }, kBitByBit>("s_not_b64"),
    scalar<[](u32 a) { return reverse_bits(a); }, kMoved<[](u32 a) { return reverse_bits(a); }>>("s_brev_b32"),
    scalar<[](u64 a) { return reverse_bits(a); }, kMoved<[](u64 a) { return reverse_bits(a); }>>("s_brev_b64"),
    scalar<[](u32 a) { return with_nonzero(static_cast<u32>(std::popcount(a))); }>("s_bcnt1_i32_b32"),
    scalar<[](u64 a) { return with_nonzero(static_cast<u32>(std::popcount(a))); }>("s_bcnt1_i32_b64"),
    scalar<[](u32 a) { return find_first_set(a); }, kToFirst<[](u32 a) { return find_first_set(a); }>>("s_ff1_i32_b32"),
    scalar<[](u64 a) { return find_first_set(a); }, kToFirst<[](u64 a) { return find_first_set(a); }>>("s_ff1_i32_b64"),
    scalar<[](u32 a) { return find_first_set(a); }, kToFirst<[](u32 a) { return find_first_set(a); }>>("s_ctz_i32_b32"),
    scalar<[](u64 a) { return find_first_set(a); }, kToFirst<[](u64 a) { return find_first_set(a); }>>("s_ctz_i32_b64"),
    scalar<[](u32 a) { return count_leading_zeros(a); }, kToFirst<[](u32 a) { return count_leading_zeros(a); }>>(
        "s_flbit_i32_b32"),
    scalar<[](u64 a) { return count_leading_zeros(a); }, kToFirst<[](u64 a) { return count_leading_zeros(a); }>>(
        "s_flbit_i32_b64"),
    scalar<[](u32 a) { return count_leading_signs(a); }>("s_flbit_i32"),
    scalar<[](u64 a) { return count_leading_signs(a); }>("s_flbit_i32_i64"),
    scalar<[](u32 a) { return count_leading_zeros(a); }, kToFirst<[](u32 a) { return count_leading_zeros(a); }>>(
        "s_clz_i32_u32"),
    scalar<[](u64 a) { return count_leading_zeros(a); }, kToFirst<[](u64 a) { return count_leading_zeros(a); }>>(
        "s_clz_i32_u64"),
    scalar<[](u32 a) { return count_leading_signs(a); }>("s_cls_i32"),
    scalar<[](u64 a) { return count_leading_signs(a); }>("s_cls_i32_i64"),
    scalar<[](u32 a) { return static_cast<i32>(static_cast<std::int8_t>(a)); },
           kMoved<[](u32 a) { return static_cast<i32>(static_cast<std::int8_t>(a)); }>>("s_sext_i32_i8"),
    scalar<[](u32 a) { return static_cast<i32>(static_cast<i16>(a)); },
           kMoved<[](u32 a) { return static_cast<i32>(static_cast<i16>(a)); }>>("s_sext_i32_i16"),
    scalar<[](i32 a) { return WithScc<u32>{a < 0 ? 0 - static_cast<u32>(a) : static_cast<u32>(a), a != 0}; }>(
        "s_abs_i32"),
    accumulating_scalar<[](u32 bit, u32 old) { return old & ~(1u << (bit & 31)); }>("s_bitset0_b32"),
    accumulating_scalar<[](u32 bit, u32 old) { return old | 1u << (bit & 31); }>("s_bitset1_b32"),

    scalar<[](u32 a, u32 b) { return add_unsigned(a, b); }, kUpwards>("s_add_u32"),
    scalar<[](u32 a, u32 b) { return add_unsigned(a, b); }, kUpwards>("s_add_co_u32"),
    scalar<[](u32 a, u32 b) { return add_signed(a, b); }, kUpwards>("s_add_i32"),
    scalar<[](u32 a, u32 b) { return add_signed(a, b); }, kUpwards>("s_add_co_i32"),
    scalar<[](Scc c, u32 a, u32 b) { return add_carry(a, b, c.value); }>("s_addc_u32"),
    scalar<[](Scc c, u32 a, u32 b) { return add_carry(a, b, c.value); }>("s_add_co_ci_u32"),
    scalar<[](u32 a, u32 b) { return subtract_unsigned(a, b); }, kUpwards>("s_sub_u32"),
    scalar<[](u32 a, u32 b) { return subtract_unsigned(a, b); }, kUpwards>("s_sub_co_u32"),
    scalar<[](u32 a, u32 b) { return subtract_signed(a, b); }, kUpwards>("s_sub_i32"),
    scalar<[](u32 a, u32 b) { return subtract_signed(a, b); }, kUpwards>("s_sub_co_i32"),
    scalar<[](Scc c, u32 a, u32 b) { return subtract_borrow(a, b, c.value); }>("s_subb_u32"),
    scalar<[](Scc c, u32 a, u32 b) { return subtract_borrow(a, b, c.value); }>("s_sub_co_ci_u32"),
    scalar<[](u64 a, u64 b) { return a + b; }, kUpwards>("s_add_nc_u64"),
    scalar<[](u64 a, u64 b) { return a - b; }, kUpwards>("s_sub_nc_u64"),
    scalar<[](u32 a, u32 b) { return a * b; }, kUpwards>("s_mul_i32"),
    scalar<[](u64 a, u64 b) { return a * b; }, kUpwards>("s_mul_u64"),
    scalar<[](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }>("s_mul_hi_u32"),
    scalar<[](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); }>("s_mul_hi_i32"),
    scalar<[](i32 a, i32 b) { return WithScc<i32>{std::min(a, b), a < b}; }>("s_min_i32"),
    scalar<[](u32 a, u32 b) { return WithScc<u32>{std::min(a, b), a < b}; }>("s_min_u32"),
    scalar<[](i32 a, i32 b) { return WithScc<i32>{std::max(a, b), a >= b}; }>("s_max_i32"),
    scalar<[](u32 a, u32 b) { return WithScc<u32>{std::max(a, b), a >= b}; }>("s_max_u32"),
    scalar<[](u32 a, u32 b) { return with_carry((u64{a} << 1) + b); }, kUpwards>("s_lshl1_add_u32"),
    scalar<[](u32 a, u32 b) { return with_carry((u64{a} << 2) + b); }, kUpwards>("s_lshl2_add_u32"),
    scalar<[](u32 a, u32 b) { return with_carry((u64{a} << 3) + b); }, kUpwards>("s_lshl3_add_u32"),
    scalar<[](u32 a, u32 b) { return with_carry((u64{a} << 4) + b); }, kUpwards>("s_lshl4_add_u32"),

    BITWISE_ROWS("s_and", a& b, kAnd),
    BITWISE_ROWS("s_or", a | b, kOr),
    BITWISE_ROWS("s_xor", a ^ b, kBitByBit),
    BITWISE_ROWS("s_andn2", a & ~b, kAndNot),
    BITWISE_ROWS("s_and_not1", a & ~b, kAndNot),
    BITWISE_ROWS("s_orn2", a | ~b, kOrNot),
    BITWISE_ROWS("s_or_not1", a | ~b, kOrNot),
    BITWISE_ROWS("s_nand", ~(a& b), kAnd),
    BITWISE_ROWS("s_nor", ~(a | b), kOr),
    BITWISE_ROWS("s_xnor", ~(a ^ b), kBitByBit),
    SAVEEXEC_ROWS("s_and", a& b, kAnd),
    SAVEEXEC_ROWS("s_or", a | b, kOr),
    SAVEEXEC_ROWS("s_xor", a ^ b, kBitByBit),
    SAVEEXEC_ROWS("s_andn1", ~a& b, kNotAnd),
    SAVEEXEC_ROWS("s_and_not0", ~a& b, kNotAnd),
    SAVEEXEC_ROWS("s_andn2", a & ~b, kAndNot),
    SAVEEXEC_ROWS("s_and_not1", a & ~b, kAndNot),
    SAVEEXEC_ROWS("s_orn2", a | ~b, kOrNot),
    SAVEEXEC_ROWS("s_or_not1", a | ~b, kOrNot),
    SAVEEXEC_ROWS("s_nand", ~(a& b), kAnd),
    SAVEEXEC_ROWS("s_nor", ~(a | b), kOr),
    SAVEEXEC_ROWS("s_xnor", ~(a ^ b), kBitByBit),

    scalar<[](u32 a, u32 n) { return with_nonzero(a << (n & 31)); }, kLeft>("s_lshl_b32"),
    scalar<[](u64 a, u32 n) { return with_nonzero(a << (n & 63)); }, kLeft>("s_lshl_b64"),
    scalar<[](u32 a, u32 n) { return with_nonzero(a >> (n & 31)); }, kRight>("s_lshr_b32"),
    scalar<[](u64 a, u32 n) { return with_nonzero(a >> (n & 63)); }, kRight>("s_lshr_b64"),
    scalar<[](i32 a, u32 n) { return with_nonzero(a >> (n & 31)); }, kArithmeticRight>("s_ashr_i32"),
    scalar<[](i64 a, u32 n) { return with_nonzero(a >> (n & 63)); }, kArithmeticRight>("s_ashr_i64"),
    scalar<[](u32 width, u32 offset) { return ((1u << (width & 31)) - 1) << (offset & 31); }>("s_bfm_b32"),
    scalar<[](u32 width, u32 offset) { return ((u64{1} << (width & 63)) - 1) << (offset & 63); }>("s_bfm_b64"),
    scalar<[](u32 a, u32 field) { return with_nonzero(extract(a, field)); }, kExtract<u32>>("s_bfe_u32"),
    scalar<[](i32 a, u32 field) { return with_nonzero(extract(a, field)); }, kExtract<i32>>("s_bfe_i32"),
    scalar<[](u64 a, u32 field) { return with_nonzero(extract(a, field)); }, kExtract<u64>>("s_bfe_u64"),
    scalar<[](i64 a, u32 field) { return with_nonzero(extract(a, field)); }, kExtract<i64>>("s_bfe_i64"),
    scalar<[](u32 a, u32 b) { return (a & 0xffff) | b << 16; },
           kMoved<[](u32 a, u32 b) { return (a & 0xffff) | b << 16; }>>("s_pack_ll_b32_b16"),
    scalar<[](u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff'0000); },
           kMoved<[](u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff'0000); }>>("s_pack_lh_b32_b16"),
    scalar<[](u32 a, u32 b) { return (a >> 16) | (b & 0xffff'0000); },
           kMoved<[](u32 a, u32 b) { return (a >> 16) | (b & 0xffff'0000); }>>("s_pack_hh_b32_b16"),
    scalar<[](u32 a, u32 b) { return (a >> 16) | (b << 16); },
           kMoved<[](u32 a, u32 b) { return (a >> 16) | (b << 16); }>>("s_pack_hl_b32_b16"),

    scalar<[](Scc c, u32 a, u32 b) { return c.value ? a : b; }, kOfSelected>("s_cselect_b32"),
    scalar<[](Scc c, u64 a, u64 b) { return c.value ? a : b; }, kOfSelected>("s_cselect_b64"),
    accumulating_scalar<[](Scc c, u32 a, u32 old) { return c.value ? a : old; }, kOfSelected>("s_cmov_b32"),
    accumulating_scalar<[](Scc c, u64 a, u64 old) { return c.value ? a : old; }, kOfSelected>("s_cmov_b64"),
    accumulating_scalar<[](u32 a, u32 old) { return add_signed(old, sign_extend(a)); }>("s_addk_i32"),
    accumulating_scalar<[](u32 a, u32 old) { return add_signed(old, sign_extend(a)); }>("s_addk_co_i32"),
    accumulating_scalar<[](u32 a, u32 old) { return old * sign_extend(a); }>("s_mulk_i32"),
    accumulating_scalar<[](Scc c, u32 a, u32 old) { return c.value ? sign_extend(a) : old; }, kOfSelected>(
        "s_cmovk_i32"),

    COMPARE_ROWS("eq", ==),
    COMPARE_ROWS("lg", !=),
    COMPARE_ROWS("gt", >),
    COMPARE_ROWS("ge", >=),
    COMPARE_ROWS("lt", <),
    COMPARE_ROWS("le", <=),
    scalar<[](u64 a, u64 b) { return a == b; }>("s_cmp_eq_u64"),
    scalar<[](u64 a, u64 b) { return a != b; }>("s_cmp_lg_u64"),
    scalar<[](u32 a, u32 bit) { return (a >> (bit & 31) & 1) == 0; }, kBit<31>>("s_bitcmp0_b32"),
    scalar<[](u32 a, u32 bit) { return (a >> (bit & 31) & 1) == 1; }, kBit<31>>("s_bitcmp1_b32"),
    scalar<[](u64 a, u32 bit) { return (a >> (bit & 63) & 1) == 0; }, kBit<63>>("s_bitcmp0_b64"),
    scalar<[](u64 a, u32 bit) { return (a >> (bit & 63) & 1) == 1; }, kBit<63>>("s_bitcmp1_b64"),
};

#undef BITWISE_ROWS
#undef COMPARE_ROWS
#undef SAVEEXEC_ROWS

}  // namespace

std::span<const Row> scalar_rows() { return kRows; }

}  // namespace millrace::isa
