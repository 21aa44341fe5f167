// SPDX-License-Identifier: Apache-2.0
// Conversions between floats and integers, for vector and scalar instructions.
// Source: RDNA 3 ISA, 16.8 "V_CVT_*"; RDNA 4 ISA, 16.3 "S_CVT_*".
#pragma once

#include "isa/instructions/float_math.h"
#include "millrace/base/float16.h"

namespace millrace::isa {

inline float to_float(f16 x) {
  const auto value = static_cast<float>(Half::from_bits(x.bits));
  return is_nan(value) ? quiet(value) : value;
}

/// Rounds according to MODE: 0 to nearest even, 1 up, 2 down, 3 to zero.
inline f16 to_half(float x, std::uint8_t round) {
  if (is_nan(x)) x = quiet(x);
  const std::uint16_t nearest = Half(x).bits;
  if (round == 0 || is_nan(x)) return {nearest};
  const bool is_towards_zero = round == 3 || (round == 1) == has_sign(x);
  const float value = std::fabs(static_cast<float>(Half::from_bits(nearest))), wanted = std::fabs(x);
  // The adjacent float of the same sign has adjacent bits.
  if (is_towards_zero && value > wanted) return {static_cast<std::uint16_t>(nearest - 1)};
  if (!is_towards_zero && value < wanted) return {static_cast<std::uint16_t>(nearest + 1)};
  return {nearest};
}

/// Rounds according to the host's mode.
inline float to_float(double x) {
  if (!is_nan(x)) return static_cast<float>(x);
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  return quiet(with_sign(std::bit_cast<float>(0x7f80'0000u | (static_cast<u32>(bits >> 29) & 0x7f'ffff)), has_sign(x)));
}
inline double to_double(float x) {
  if (!is_nan(x)) return x;
  const std::uint64_t payload = magnitude_bits(x) & 0x7f'ffff;
  return quiet(with_sign(std::bit_cast<double>(0x7ff0'0000'0000'0000u | payload << 29), has_sign(x)));
}

inline constexpr auto kHalfOfFloat = [](const Wave& wave, f32 x) { return to_half(x, wave.mode.round_f16_f64); };
inline constexpr auto kFloatOfHalf = [](f16 x) { return to_float(x); };
/// Two halves, rounded to zero whatever MODE says.
inline constexpr auto kPairOfHalves = [](f32 low, f32 high) {
  return to_half(low, 3).bits | static_cast<u32>(to_half(high, 3).bits) << 16;
};
inline constexpr auto kIntOfFloat = [](f32 x) { return saturate<i32>(x); };
inline constexpr auto kUnsignedOfFloat = [](f32 x) { return saturate<u32>(x); };
inline constexpr auto kFloatOfInt = [](i32 x) { return static_cast<f32>(x); };
inline constexpr auto kFloatOfUnsigned = [](u32 x) { return static_cast<f32>(x); };

}  // namespace millrace::isa
