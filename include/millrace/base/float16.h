// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace {

/// IEEE 754 binary16 storage. Arithmetic is done in f32; conversions round to nearest, ties to even, keep subnormals,
/// infinities and the sign of NaN (a NaN stays a NaN).
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float value);
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
  explicit operator float() const;
  static BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 value;
    value.bits = bits;
    return value;
  }
};

}  // namespace millrace
