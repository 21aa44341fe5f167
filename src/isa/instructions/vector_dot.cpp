// SPDX-License-Identifier: Apache-2.0
// Dot products of the bytes, or half bytes, of two words.
// Source: CDNA 4 ISA, 12.7 (V_DOT4C, V_DOT8C) and 12.10 (V_DOT4, V_DOT8); RDNA 3 ISA, 16.10 (V_DOT4_I32_IU8, whose
// neg_lo says which source is signed).
#include <limits>
#include <span>

#include "isa/decode.h"
#include "isa/instructions/vector.h"
#include "isa/known.h"
#include "isa/text.h"

namespace millrace::isa {
namespace {

/// Part `i` of a word that is divided into parts of kBits.
template <std::uint32_t kBits, bool kIsSigned>
constexpr std::int64_t part_of(std::uint32_t word, std::uint32_t i) {
  constexpr std::int64_t kCount = std::int64_t{1} << kBits;
  const std::int64_t value = word >> (i * kBits) & (kCount - 1);
  return kIsSigned && value >= kCount / 2 ? value - kCount : value;
}

template <std::uint32_t kBits, bool kIsSignedA, bool kIsSignedB>
constexpr std::int64_t dot(std::uint32_t a, std::uint32_t b) {
  std::int64_t sum = 0;
  for (std::uint32_t i = 0; i < 32 / kBits; ++i)
    sum += part_of<kBits, kIsSignedA>(a, i) * part_of<kBits, kIsSignedB>(b, i);
  return sum;
}

template <class T>
constexpr T saturate(std::int64_t value) {
  constexpr std::int64_t kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  return static_cast<T>(value < kLow ? kLow : value > kHigh ? kHigh : value);
}

template <std::uint32_t kBits, class T>
constexpr Row dot_row(const char* name) {
  constexpr bool kSigned = std::is_signed_v<T>;
  Row row = vector<[](u32 a, u32 b, T c) { return static_cast<T>(dot<kBits, kSigned, kSigned>(a, b) + c); }>(name);
  row.run_clamped =
      vector<[](u32 a, u32 b, T c) { return saturate<T>(dot<kBits, kSigned, kSigned>(a, b) + c); }>(name).run;
  return row;
}

template <std::uint32_t kBits, bool kIsSignedA, bool kIsSignedB>
constexpr Row mixed_row(const char* name) {
  return vector<[](u32 a, u32 b, i32 c) { return static_cast<i32>(dot<kBits, kIsSignedA, kIsSignedB>(a, b) + c); }>(
      name);
}

/// Selects the handler by the sources that neg_lo marks as signed.
template <std::uint32_t kBits>
Status decode_mixed(const InstructionText& text, const Machine& machine, Instruction& instruction) {
  static constexpr Row kRows[2][2] = {{mixed_row<kBits, false, false>(""), mixed_row<kBits, false, true>("")},
                                      {mixed_row<kBits, true, false>(""), mixed_row<kBits, true, true>("")}};
  MILLRACE_TRY(decode_operands(text, machine, instruction));
  std::vector<std::uint32_t> is_signed = {0, 0, 0};
  for (const ModifierText& modifier : text.modifiers) {
    if (modifier.name != "neg_lo") {
      return unimplemented(std::string("modifier '") + std::string(modifier.name) + "' is not modelled");
    }
    MILLRACE_TRY_ASSIGN(is_signed, parse_list(modifier.value));
  }
  if (is_signed.size() != 3 || is_signed[0] > 1 || is_signed[1] > 1 || is_signed[2] != 0) {
    return unimplemented("neg_lo of a form other than [0 or 1, 0 or 1, 0]");
  }
  instruction.run = kRows[is_signed[0]][is_signed[1]].run;
  return {};
}

template <std::uint32_t kBits>
constexpr Row mixed(const char* name) {
  Row row = mixed_row<kBits, true, true>(name);
  row.adapt = decode_mixed<kBits>;
  return row;
}

constexpr Row kRows[] = {
    dot_row<8, u32>("v_dot4_u32_u8"),
    dot_row<8, i32>("v_dot4_i32_i8"),
    dot_row<4, u32>("v_dot8_u32_u4"),
    dot_row<4, i32>("v_dot8_i32_i4"),
    mixed<8>("v_dot4_i32_iu8"),
    mixed<4>("v_dot8_i32_iu4"),
    accumulating<[](u32 a, u32 b, i32 c) { return static_cast<i32>(dot<8, true, true>(a, b) + c); }>("v_dot4c_i32_i8"),
    accumulating<[](u32 a, u32 b, i32 c) { return static_cast<i32>(dot<4, true, true>(a, b) + c); }>("v_dot8c_i32_i4"),
};

}  // namespace

std::span<const Row> vector_dot_rows() { return kRows; }

}  // namespace millrace::isa
