// SPDX-License-Identifier: Apache-2.0
// Float arithmetic as the hardware does it, whatever the host does with NaN, signed zeros and subnormals.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "isa/instructions/vector.h"

namespace millrace::isa {

/// The layout of a float's bits.
template <class T>
struct FloatBits {
  using Bits = BitsOf<T>;
  static constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  static constexpr int kBias = std::numeric_limits<T>::max_exponent - 1;
  static constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
  static constexpr Bits kInfinity = ((Bits{1} << (8 * sizeof(T) - 1 - kMantissa)) - 1) << kMantissa;
  static constexpr Bits kQuiet = Bits{1} << (kMantissa - 1);
  static constexpr Bits kMinNormal = Bits{1} << kMantissa;
};

template <class T>
constexpr BitsOf<T> magnitude_bits(T x) {
  return std::bit_cast<BitsOf<T>>(x) & ~FloatBits<T>::kSign;
}
template <class T>
constexpr bool has_sign(T x) {
  return (std::bit_cast<BitsOf<T>>(x) & FloatBits<T>::kSign) != 0;
}
template <class T>
constexpr bool is_nan(T x) {
  return magnitude_bits(x) > FloatBits<T>::kInfinity;
}
template <class T>
constexpr bool is_infinite(T x) {
  return magnitude_bits(x) == FloatBits<T>::kInfinity;
}
template <class T>
constexpr bool is_subnormal(T x) {
  return magnitude_bits(x) != 0 && magnitude_bits(x) < FloatBits<T>::kMinNormal;
}
template <class T>
constexpr bool is_signalling(T x) {
  return is_nan(x) && (std::bit_cast<BitsOf<T>>(x) & FloatBits<T>::kQuiet) == 0;
}
/// The exponent's field: 0 for subnormals.
template <class T>
constexpr int exponent_field(T x) {
  return static_cast<int>(magnitude_bits(x) >> FloatBits<T>::kMantissa);
}
/// A NaN, made quiet.
template <class T>
constexpr T quiet(T x) {
  return std::bit_cast<T>(std::bit_cast<BitsOf<T>>(x) | FloatBits<T>::kQuiet);
}
template <class T>
constexpr T with_sign(T x, bool is_negative) {
  return std::bit_cast<T>(magnitude_bits(x) | (is_negative ? FloatBits<T>::kSign : BitsOf<T>{0}));
}
/// The result of an invalid operation: 0x7fc00000. x86 gives a negative NaN.
template <class T>
constexpr T default_nan() {
  return std::bit_cast<T>(FloatBits<T>::kInfinity | FloatBits<T>::kQuiet);
}
/// Replaces a subnormal by a zero of the same sign.
template <class T>
constexpr T without_subnormal(T x) {
  const auto bits = std::bit_cast<BitsOf<T>>(x);
  return std::bit_cast<T>(magnitude_bits(x) < FloatBits<T>::kMinNormal ? bits & FloatBits<T>::kSign : bits);
}

/// The first NaN of the sources, quiet.
template <class T>
constexpr T nan_of() {
  return default_nan<T>();
}
template <class T, class... Rest>
constexpr T nan_of(T first, Rest... rest) {
  return is_nan(first) ? quiet(first) : nan_of<T>(rest...);
}
/// A result that the host computed, except that a NaN is replaced by the hardware's.
template <class T, class... Sources>
constexpr T canonical(T result, Sources... sources) {
  return is_nan(result) ? nan_of<T>(sources...) : result;
}

/// a * b + c, rounded once, in the host's mode. (std::fma is a call, but on a host that has the instruction, it is
/// faster than emulation with doubles.)
template <class T>
T fused(T a, T b, T c) {
  return canonical(std::fma(a, b, c), a, b, c);
}

/// Whether a < b, where -0 is below +0. Neither is NaN.
template <class T>
constexpr bool is_below(T a, T b) {
  return a < b || (a == b && has_sign(a) && !has_sign(b));
}

/// The result of v_min_f32, v_max_f32 and similar instructions, up to GFX11, if a source is NaN. With MODE's IEEE bit,
/// signalling NaNs become quiet ones; otherwise numbers win over NaN.
/// Source: RDNA 3 ISA, 16.7 "V_MIN_F32" (of two NaNs, the first); RDNA 2 ISA and CDNA 4 ISA, 12.7 (the second).
template <class T>
constexpr T choose_by_nan(const Wave& wave, T a, T b) {
  if (wave.mode.is_ieee && is_signalling(a)) return quiet(a);
  if (wave.mode.is_ieee && is_signalling(b)) return quiet(b);
  if (is_nan(a) && is_nan(b)) return wave.machine.major <= 10 ? b : a;
  return is_nan(a) ? b : a;
}
template <class T>
constexpr T min_by_mode(const Wave& wave, T a, T b) {
  if (is_nan(a) || is_nan(b)) return choose_by_nan(wave, a, b);
  return is_below(a, b) ? a : b;
}
template <class T>
constexpr T max_by_mode(const Wave& wave, T a, T b) {
  if (is_nan(a) || is_nan(b)) return choose_by_nan(wave, a, b);
  return is_below(b, a) ? a : b;
}

/// v_min_num_f32: numbers win, even against signalling NaNs.
/// Source: RDNA 4 ISA, 16.7 "V_MIN_NUM_F32".
template <class T>
constexpr T min_number(T a, T b) {
  if (is_nan(a)) return is_nan(b) ? quiet(a) : b;
  if (is_nan(b)) return a;
  return is_below(a, b) ? a : b;
}
template <class T>
constexpr T max_number(T a, T b) {
  if (is_nan(a)) return is_nan(b) ? quiet(a) : b;
  if (is_nan(b)) return a;
  return is_below(b, a) ? a : b;
}

/// v_minimum_f32: NaN wins, a signalling one first.
/// Source: RDNA 4 ISA, 16.12 "V_MINIMUM_F32".
template <class T>
constexpr T winning_nan(T a, T b) {
  if (is_signalling(b) && !is_signalling(a)) return quiet(b);
  return is_nan(a) ? quiet(a) : quiet(b);
}
template <class T>
constexpr T minimum(T a, T b) {
  if (is_nan(a) || is_nan(b)) return winning_nan(a, b);
  return is_below(a, b) ? a : b;
}
template <class T>
constexpr T maximum(T a, T b) {
  if (is_nan(a) || is_nan(b)) return winning_nan(a, b);
  return is_below(b, a) ? a : b;
}

/// The median of three numbers, as the manuals define it: remove one that equals the maximum, then take the larger of
/// the other two. For zeros of both signs it is +0.
template <class T>
constexpr T middle(T a, T b, T c) {
  const auto larger = [](T x, T y) { return is_below(x, y) ? y : x; };
  const T largest = larger(larger(a, b), c);
  if (largest == a) return larger(b, c);
  return largest == b ? larger(a, c) : larger(a, b);
}

/// x * 2^exponent, rounded once. Computing the power of two first, as the manuals do, could overflow.
inline float scale(float x, std::int32_t exponent) {
  // 2^400 is enough to reach every f32, and is exact as a double.
  const int clamped = exponent < -400 ? -400 : exponent > 400 ? 400 : exponent;
  const auto power = std::bit_cast<double>(static_cast<std::uint64_t>(clamped + 1023) << 52);
  return canonical(static_cast<float>(x * power), x);
}
inline double scale(double x, std::int32_t exponent) { return canonical(std::ldexp(x, exponent), x); }

/// The e for which x is m * 2^e with m in [0.5, 1); 0 for zero, infinities and NaN. The manuals do not define the
/// exponent of zero or of a subnormal. Source: LLVM's ConstantFolding.cpp.
template <class T>
std::int32_t fraction_exponent(T x) {
  int exponent = 0;
  if (exponent_field(x) != exponent_field(std::numeric_limits<T>::infinity())) std::frexp(x, &exponent);
  return exponent;
}
template <class T>
T fraction_mantissa(T x) {
  int exponent = 0;
  if (is_nan(x)) return quiet(x);
  return is_infinite(x) ? x : std::frexp(x, &exponent);
}

/// x - floor(x), limited to numbers below 1. The manuals' formula can round to 1.
/// Source: LLVM's ConstantFolding.cpp; OpenCL's fract().
template <class T>
T fraction(T x) {
  const T value = canonical(x - std::floor(x), x);
  constexpr T kBelowOne = 1 - std::numeric_limits<T>::epsilon() / 2;
  return value > kBelowOne ? kBelowOne : value;
}

/// Converts to an integer, rounding towards zero and saturating; 0 for NaN.
template <class I, class T>
I saturate(T x) {
  if (is_nan(x)) return 0;
  const T whole = std::trunc(x);
  // The type's minimum is a power of two, and so is the number after its maximum.
  constexpr T kBeyond = static_cast<T>(std::uint64_t{1} << (std::numeric_limits<I>::digits - 1)) * 2;
  if (whole >= kBeyond) return std::numeric_limits<I>::max();
  constexpr T kLowest = static_cast<T>(std::numeric_limits<I>::min());
  return whole < kLowest ? std::numeric_limits<I>::min() : static_cast<I>(whole);
}

}  // namespace millrace::isa
