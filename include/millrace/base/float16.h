// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>

namespace millrace {

namespace detail {
/// Converts `value` to a double that rounds to the same 16-bit float as `value` itself. Exact below 2^53. From 2^53 on,
/// a sticky bit replaces the lowest 11 bits: bit 11 is set if any of them is 1.
template <std::integral I>
constexpr double to_double_sticky(I value) {
  auto magnitude = static_cast<std::uint64_t>(value);
  double scale = 1;
  if constexpr (std::signed_integral<I>) {
    if (value < 0) {
      magnitude = 0 - magnitude;
      scale = -1;
    }
  }
  if (magnitude >> 53 != 0) {
    magnitude = magnitude >> 11 | ((magnitude & 0x7ff) != 0 ? 1 : 0);
    scale *= 2048;
  }
  return static_cast<double>(magnitude) * scale;
}
}  // namespace detail

/// IEEE 754 binary16 storage. Arithmetic is done in f32. Conversions round to nearest, ties to even, and keep
/// subnormals, infinities, and NaNs with their sign.
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float value);
  /// Rounds once; going through f32 would round twice.
  explicit Half(double value);
  template <std::integral I>
  explicit Half(I value) : Half(detail::to_double_sticky(value)) {}
  explicit operator float() const;
  static Half from_bits(std::uint16_t bits) {
    Half half;
    half.bits = bits;
    return half;
  }
};

/// bfloat16 storage: the upper half of an f32, rounded to nearest, ties to even; subnormals are kept.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value);
  /// Rounds once; going through f32 would round twice.
  explicit BFloat16(double value);
  template <std::integral I>
  explicit BFloat16(I value) : BFloat16(detail::to_double_sticky(value)) {}
  explicit operator float() const;
  static BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 value;
    value.bits = bits;
    return value;
  }
};

}  // namespace millrace
