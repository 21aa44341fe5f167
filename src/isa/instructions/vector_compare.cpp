// SPDX-License-Identifier: Apache-2.0
// Compare instructions. They write one bit per lane, to a mask (v_cmp) or to EXEC (v_cmpx; decode.cpp makes EXEC its
// result).
// Source: RDNA 3 ISA, 16.9 "VOPC"; CDNA 4 ISA, 12.9 "VOPC".
#include <cmath>
#include <functional>
#include <limits>

#include "isa/decode.h"
#include "isa/instructions/vector.h"
#include "millrace/base/float16.h"

namespace millrace::isa {
namespace {

/// A value that C++'s operators compare as the instructions do. Subnormals count as zero if MODE says so.
template <std::integral T>
T comparable(const Wave&, T value) {
  return value;
}
template <std::floating_point T>
T comparable(const Wave& wave, T value) {
  const bool flushes = sizeof(T) == 4 ? wave.mode.flushes_f32_inputs : wave.mode.flushes_f16_f64_inputs;
  return flushes && std::abs(value) < std::numeric_limits<T>::min() ? T{0} : value;
}
float comparable(const Wave& wave, f16 value) {
  const bool is_subnormal = (value.bits & 0x7c00) == 0;
  return is_subnormal && wave.mode.flushes_f16_f64_inputs ? 0.0f : static_cast<float>(Half::from_bits(value.bits));
}

struct Always {
  bool operator()(auto, auto) const { return true; }
};
struct Never {
  bool operator()(auto, auto) const { return false; }
};
/// Whether neither operand is NaN.
struct Ordered {
  bool operator()(auto a, auto b) const { return a == a && b == b; }
};
struct LessOrGreater {
  bool operator()(auto a, auto b) const { return a < b || a > b; }
};
template <class Condition>
struct Not {
  bool operator()(auto a, auto b) const { return !Condition{}(a, b); }
};

template <class Condition, class T>
inline constexpr auto kCompare =
    [](const Wave& wave, T a, T b) -> bool { return Condition{}(comparable(wave, a), comparable(wave, b)); };

template <class T, class Bits>
T min_value(Known<Bits> a) {
  const Bits sign = std::is_signed_v<T> ? Bits{1} << (8 * sizeof(T) - 1) : 0;
  return static_cast<T>(((a.value & ~a.undefined) & ~sign) | ((a.value | a.undefined) & sign));
}
template <class T, class Bits>
T max_value(Known<Bits> a) {
  const Bits sign = std::is_signed_v<T> ? Bits{1} << (8 * sizeof(T) - 1) : 0;
  return static_cast<T>(((a.value | a.undefined) & ~sign) | ((a.value & ~a.undefined) & sign));
}

/// Whether a comparison's result is undefined. Integers that differ in a defined bit are unequal. The result of an
/// order comparison is defined if it is the same for all values that the undefined bits allow, so their extremes are
/// compared.
template <class Condition, class T>
inline constexpr auto kUndefined = [](Known<BitsOf<T>> a, Known<BitsOf<T>> b) -> bool {
  if constexpr (std::is_same_v<Condition, std::equal_to<>> || std::is_same_v<Condition, std::not_equal_to<>>) {
    const auto any = static_cast<T>(a.undefined | b.undefined);
    return any != 0 && (static_cast<T>(a.value ^ b.value) & static_cast<T>(~any)) == 0;
  } else {
    return Condition{}(min_value<T>(a), max_value<T>(b)) != Condition{}(max_value<T>(a), min_value<T>(b));
  }
};

/// Writes the result to EXEC, where inactive lanes are 0. On GFX9, the instruction also names a mask, which gets the
/// same result.
template <Handler kRun>
void run_on_exec(Wave& wave, const Instruction& instruction) {
  kRun(wave, instruction);
  const Operand& result = instruction.result();
  if (result.first != kExec) wave.set_mask(kExec, wave.mask(result.first), wave.undefined_mask(result.first));
}

template <Handler kRun>
constexpr Row on_exec(const char* name, Row row) {
  row.name = name;
  row.run = &run_on_exec<kRun>;
  return row;
}

template <class Condition, class T>
constexpr Row row_of(const char* name) {
  if constexpr (std::is_integral_v<T>) return vector<kCompare<Condition, T>, kUndefined<Condition, T>>(name);
  if constexpr (!std::is_integral_v<T>) return vector<kCompare<Condition, T>>(name);
}

// clang-format off
#define COMPARE(condition, type, Condition, T)                                              \
  row_of<Condition, T>("v_cmp_" condition "_" type),                                        \
  on_exec<row_of<Condition, T>("").run>("v_cmpx_" condition "_" type, row_of<Condition, T>(""))

#define COMPARES_OF_INTEGERS(type, T)               \
  COMPARE("f", type, Never, T),                     \
  COMPARE("lt", type, std::less<>, T),              \
  COMPARE("eq", type, std::equal_to<>, T),          \
  COMPARE("le", type, std::less_equal<>, T),        \
  COMPARE("gt", type, std::greater<>, T),           \
  COMPARE("ne", type, std::not_equal_to<>, T),      \
  COMPARE("ge", type, std::greater_equal<>, T),     \
  COMPARE("t", type, Always, T)

#define COMPARES_OF_FLOATS(type, T)                     \
  COMPARE("f", type, Never, T),                         \
  COMPARE("lt", type, std::less<>, T),                  \
  COMPARE("eq", type, std::equal_to<>, T),              \
  COMPARE("le", type, std::less_equal<>, T),            \
  COMPARE("gt", type, std::greater<>, T),               \
  COMPARE("lg", type, LessOrGreater, T),                \
  COMPARE("ge", type, std::greater_equal<>, T),         \
  COMPARE("o", type, Ordered, T),                       \
  COMPARE("u", type, Not<Ordered>, T),                  \
  COMPARE("nge", type, Not<std::greater_equal<>>, T),   \
  COMPARE("nlg", type, Not<LessOrGreater>, T),          \
  COMPARE("ngt", type, Not<std::greater<>>, T),         \
  COMPARE("nle", type, Not<std::less_equal<>>, T),      \
  COMPARE("neq", type, std::not_equal_to<>, T),         \
  COMPARE("nlt", type, Not<std::less<>>, T),            \
  COMPARE("tru", type, Always, T),                      \
  COMPARE("t", type, Always, T)
// clang-format on

/// The classes of a float, ten bits: signalling NaN, quiet NaN, then from -infinity to +infinity.
template <class Bits, int kMantissa>
constexpr std::uint32_t class_of(Bits bits) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1), kInfinity = (kSign - 1) >> kMantissa << kMantissa;
  const Bits magnitude = bits & static_cast<Bits>(~kSign);
  const bool is_negative = (bits & kSign) != 0;
  if (magnitude > kInfinity) return (magnitude >> (kMantissa - 1) & 1) == 0 ? 0 : 1;
  if (magnitude == kInfinity) return is_negative ? 2 : 9;
  if (magnitude >= Bits{1} << kMantissa) return is_negative ? 3 : 8;
  if (magnitude != 0) return is_negative ? 4 : 7;
  return is_negative ? 5 : 6;
}
constexpr std::uint32_t class_of(f16 x) { return class_of<std::uint16_t, 10>(x.bits); }
constexpr std::uint32_t class_of(f32 x) { return class_of<std::uint32_t, 23>(std::bit_cast<std::uint32_t>(x)); }
constexpr std::uint32_t class_of(f64 x) { return class_of<std::uint64_t, 52>(std::bit_cast<std::uint64_t>(x)); }

template <class T>
inline constexpr auto kIsOfClass = [](T x, u32 classes) -> bool { return (classes >> class_of(x) & 1) != 0; };

#define COMPARE_CLASS(type, T)                \
  vector<kIsOfClass<T>>("v_cmp_class_" type), \
      on_exec<vector<kIsOfClass<T>>("").run>("v_cmpx_class_" type, vector<kIsOfClass<T>>(""))

constexpr Row kRows[] = {
    COMPARES_OF_INTEGERS("i16", i16), COMPARES_OF_INTEGERS("u16", u16), COMPARES_OF_INTEGERS("i32", i32),
    COMPARES_OF_INTEGERS("u32", u32), COMPARES_OF_INTEGERS("i64", i64), COMPARES_OF_INTEGERS("u64", u64),
    COMPARES_OF_FLOATS("f16", f16),   COMPARES_OF_FLOATS("f32", f32),   COMPARES_OF_FLOATS("f64", f64),
    COMPARE_CLASS("f16", f16),        COMPARE_CLASS("f32", f32),        COMPARE_CLASS("f64", f64)};

}  // namespace

std::span<const Row> vector_compare_rows() { return kRows; }

}  // namespace millrace::isa
