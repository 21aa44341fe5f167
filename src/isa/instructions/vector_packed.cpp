// SPDX-License-Identifier: Apache-2.0
// Packed instructions, which compute two halves at once. op_sel and op_sel_hi have already arranged the operands'
// halves, and neg_lo and neg_hi negated them. Source: RDNA 3 ISA, 16.10 "VOP3P"; CDNA 4 ISA, 12.10 "VOP3P".
#include "isa/decode.h"
#include "isa/instructions/float_rows.h"
#include "isa/instructions/formula.h"
#include "isa/text.h"

namespace millrace::isa {
namespace {

template <class H, class...>
using Same = H;

/// A formula of 16-bit integers, or, for the modifier "clamp", of 64-bit integers whose result is saturated.
template <auto kFormula, class H, class... A>
struct Halves {
  static constexpr std::uint32_t half(std::uint32_t word, std::uint32_t i) { return word >> (16 * i) & 0xffff; }

  static PackedB16 value(Same<PackedB16, A>... source) {
    const auto of = [](auto... bits) {
      return static_cast<u16>(kFormula(detail::widen_source<H>(std::uint32_t{bits})...));
    };
    return {of(source.low...), of(source.high...)};
  }
  static std::uint32_t undefined(Same<Known<std::uint32_t>, A>... source) {
    std::uint32_t result = 0;
    for (std::uint32_t i = 0; i < 2; ++i) {
      const auto known =
          kFormula(detail::widen_source<H>(Known<std::uint32_t>(half(source.value, i), half(source.undefined, i)))...);
      result |= (known.undefined & 0xffff) << (16 * i);
    }
    return result;
  }
  static PackedB16 saturated(Same<PackedB16, A>... source) {
    const auto of = [](auto... bits) {
      constexpr std::int64_t kLowest = std::numeric_limits<H>::min(), kHighest = std::numeric_limits<H>::max();
      const std::int64_t result = kFormula(std::int64_t{static_cast<H>(bits)}...);
      return static_cast<u16>(result < kLowest ? kLowest : result > kHighest ? kHighest : result);
    };
    return {of(source.low...), of(source.high...)};
  }
};

template <auto kFormula, class H>
constexpr Row pair_of_2(const char* name) {
  using Each = Halves<kFormula, H, H, H>;
  return vector<[](PackedB16 a, PackedB16 b) { return Each::value(a, b); },
                [](auto a, auto b) { return Each::undefined(a, b); }>(name);
}
template <auto kFormula, class H>
constexpr Row pair_of_3(const char* name) {
  using Each = Halves<kFormula, H, H, H, H>;
  return vector<[](PackedB16 a, PackedB16 b, PackedB16 c) { return Each::value(a, b, c); },
                [](auto a, auto b, auto c) { return Each::undefined(a, b, c); }>(name);
}
template <auto kFormula, class H>
constexpr Row clampable_2(const char* name) {
  using Each = Halves<kFormula, H, H, H>;
  return with_clamp(pair_of_2<kFormula, H>(name),
                    vector<[](PackedB16 a, PackedB16 b) { return Each::saturated(a, b); }>(name));
}
template <auto kFormula, class H>
constexpr Row clampable_3(const char* name) {
  using Each = Halves<kFormula, H, H, H, H>;
  return with_clamp(pair_of_3<kFormula, H>(name),
                    vector<[](PackedB16 a, PackedB16 b, PackedB16 c) { return Each::saturated(a, b, c); }>(name));
}

constexpr auto kAdd = [](auto a, auto b) { return a + b; };
constexpr auto kSub = [](auto a, auto b) { return a - b; };
constexpr auto kMul = [](auto a, auto b) { return a * b; };
constexpr auto kMulAdd = [](auto a, auto b, auto c) { return a * b + c; };
constexpr auto kLesser = [](auto a, auto b) { return lesser_signed(a, b); };
constexpr auto kGreater = [](auto a, auto b) { return greater_signed(a, b); };
constexpr auto kShiftLeft = [](auto amount, auto a) { return a << (amount & 15u); };
constexpr auto kShiftRight = [](auto amount, auto a) { return a >> (amount & 15u); };
constexpr auto kShiftRightSigned = [](auto amount, auto a) { return shift_signed(a, amount & 15u); };

/// An undefined bit of a float makes that float undefined.
constexpr auto kByFloat = [](const auto&... source) {
  const std::uint64_t undefined = (source.undefined | ...);
  constexpr std::uint64_t kLow = 0xffff'ffffu;
  return ((undefined & kLow) != 0 ? kLow : 0) | ((undefined & ~kLow) != 0 ? ~kLow : 0);
};

template <auto kOp>
inline constexpr auto kBoth2 =
    [](PackedF32 a, PackedF32 b) { return PackedF32{kOp(a.low, b.low), kOp(a.high, b.high)}; };
template <auto kOp>
inline constexpr auto kBoth3 = [](PackedF32 a, PackedF32 b, PackedF32 c) {
  return PackedF32{kOp(a.low, b.low, c.low), kOp(a.high, b.high, c.high)};
};
template <auto kOp>
constexpr Row floats_of_2(const char* name) {
  return rounded<kBoth2<kOp>, kByFloat>(name);
}

constexpr auto kAddFloat = [](float a, float b) { return canonical(a + b, a, b); };
constexpr auto kMulFloat = [](float a, float b) { return canonical(a * b, a, b); };
constexpr auto kFused = [](float a, float b, float c) { return fused(a, b, c); };

/// The low word of a, then that of b.
constexpr auto kMove = [](auto a, auto b) { return (a & 0xffff'ffffu) | (b << std::uint64_t{32}); };

/// Here op_sel has one digit per source and selects the word that is moved; op_sel_hi has no meaning.
Status adapt_move(const InstructionText& text, const Machine& machine, Instruction& instruction) {
  MILLRACE_TRY(decode_operands(text, machine, instruction));
  for (const ModifierText& modifier : text.modifiers) {
    if (modifier.name != "op_sel") return unimplemented("a packed move with a modifier other than op_sel");
    MILLRACE_TRY_ASSIGN(const std::vector<std::uint32_t> digits, parse_list(modifier.value));
    for (std::size_t i = 0; i < 2 && i < digits.size(); ++i) {
      Operand& source = instruction.operands[1 + i];
      source.low_from_high = digits[i] != 0;
      if (source.low_from_high && source.kind == OperandKind::kConstant) {
        return unimplemented("the upper half of a constant");
      }
    }
  }
  return {};
}

constexpr Row kPackedMove = [] {
  Row row = formula<kMove, u64, u64, u64>("v_pk_mov_b32");
  row.types = {Type::kPackedF32, Type::kPackedF32, Type::kPackedF32};
  row.adapt = &adapt_move;
  return row;
}();

constexpr Row kRows[] = {clampable_2<kAdd, u16>("v_pk_add_u16"),
                         clampable_2<kAdd, i16>("v_pk_add_i16"),
                         clampable_2<kSub, u16>("v_pk_sub_u16"),
                         clampable_2<kSub, i16>("v_pk_sub_i16"),
                         pair_of_2<kMul, u16>("v_pk_mul_lo_u16"),
                         clampable_3<kMulAdd, u16>("v_pk_mad_u16"),
                         clampable_3<kMulAdd, i16>("v_pk_mad_i16"),
                         pair_of_2<kLesser, u16>("v_pk_min_u16"),
                         pair_of_2<kGreater, u16>("v_pk_max_u16"),
                         pair_of_2<kLesser, i16>("v_pk_min_i16"),
                         pair_of_2<kGreater, i16>("v_pk_max_i16"),
                         pair_of_2<kShiftLeft, u16>("v_pk_lshlrev_b16"),
                         pair_of_2<kShiftRight, u16>("v_pk_lshrrev_b16"),
                         pair_of_2<kShiftRightSigned, i16>("v_pk_ashrrev_i16"),
                         floats_of_2<kAddFloat>("v_pk_add_f32"),
                         floats_of_2<kMulFloat>("v_pk_mul_f32"),
                         rounded<kBoth3<kFused>, kByFloat>("v_pk_fma_f32"),
                         kPackedMove};

}  // namespace

std::span<const Row> vector_packed_rows() { return kRows; }

}  // namespace millrace::isa
