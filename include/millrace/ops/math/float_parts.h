// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "millrace/base/dtype.h"

namespace millrace::math::detail {

// Shared by the elementary functions. V is the builder's value type. The bits of a float are held in an integer of the
// same size.

struct FloatFormat {
  DType bits;  // the integer dtype of the same size
  int fraction_bits;
  std::int64_t exponent_bias;
  double rounder;  // 1.5 * 2^fraction_bits: adding it leaves the nearest integer in the low bits
  std::int64_t rounder_bits;
  double ln2_high, ln2_low;  // ln2_high has few bits, so that n * ln2_high is exact for every exponent n
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kLog2E = 1.4426950408889634;

constexpr FloatFormat format_of(DType dtype) {
  constexpr FloatFormat kF32Format = {
      DType::kI32, 23, 127, 12582912.0, 0x4b400000, 0.693359375, -2.12194440054690583e-4};
  constexpr FloatFormat kF64Format = {
      DType::kI64, 52, 1023, 6755399441055744.0, 0x4338000000000000, 0.693147180369123816, 1.90821492927058770e-10};
  return dtype == DType::kF64 ? kF64Format : kF32Format;
}

/// coefficients[0] + coefficients[1] * x + ...
template <class B, class V>
V horner(B& b, V x, std::span<const double> coefficients) {
  V sum = b.constant_like(x, coefficients.back());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;) {
    sum = b.mul_add(sum, x, b.constant_like(x, coefficients[i]));
  }
  return sum;
}

/// 2^(k + offset) as a float like `like`. Precondition: -bias < k + offset <= bias. Only the low bits of k count, so
/// that it may be the bits of x + rounder.
template <class B, class V>
V power_of_two(B& b, V k, V like, std::int64_t offset = 0) {
  const FloatFormat format = format_of(like.dtype);
  const V biased = b.add(k, b.constant_int(format.bits, format.exponent_bias + offset));
  return b.bitcast(like.dtype, b.shl(biased, b.constant_int(format.bits, format.fraction_bits)));
}

/// x * 2^k for |k| up to twice the exponent range. Scales in two steps, so that subnormal results round once and
/// overflow gives infinity. As in power_of_two(), only the low bits of k count.
template <class B, class V>
V scale(B& b, V x, V k) {
  const FloatFormat format = format_of(x.dtype);
  const V fraction = b.constant_int(format.bits, format.fraction_bits);
  const V one = b.constant_int(format.bits, format.exponent_bias << format.fraction_bits);
  const V half = b.shl(b.shr(k, b.constant_int(k.dtype, 1)), fraction);
  const V rest = b.sub(b.shl(k, fraction), half);
  const auto power = [&](V exponent) { return b.bitcast(x.dtype, b.add(exponent, one)); };
  return b.mul(b.mul(x, power(half)), power(rest));
}

/// `magnitude` with the sign of `sign`.
template <class B, class V>
V copy_sign(B& b, V magnitude, V sign) {
  const DType bits = format_of(sign.dtype).bits;
  const V sign_bit = b.shl(b.constant_int(bits, 1), b.constant_int(bits, bits == DType::kI64 ? 63 : 31));
  return b.bitcast(sign.dtype, b.bit_or(b.bitcast(bits, magnitude), b.bit_and(b.bitcast(bits, sign), sign_bit)));
}

/// The smaller of x and `high`; NaN stays NaN.
template <class B, class V>
V at_most(B& b, V x, double high) {
  const V high_value = b.constant_like(x, high);
  return b.select(b.lt(high_value, x), high_value, x);
}

/// Limits x to [low, high]; NaN stays NaN.
template <class B, class V>
V clamp(B& b, V x, double low, double high) {
  const V low_value = b.constant_like(x, low);
  return at_most(b, b.select(b.lt(x, low_value), low_value, x), high);
}

/// The integer nearest to `scaled` = x * factor, as a float and as an integer. Precondition: |scaled| <
/// 2^(fraction_bits - 2). For NaN, the float is NaN and the integer arbitrary.
template <class V>
struct NearestInteger {
  V value;
  V integer;
};

template <class B, class V>
NearestInteger<V> nearest_integer(B& b, V x, double factor) {
  const FloatFormat format = format_of(x.dtype);
  const V rounder = b.constant_like(x, format.rounder);
  const V shifted = b.mul_add(x, b.constant_like(x, factor), rounder);
  return {b.sub(shifted, rounder),
          b.sub(b.bitcast(format.bits, shifted), b.constant_int(format.bits, format.rounder_bits))};
}

/// Converts an integer to the float of the same size. Precondition: |k| < 2^(fraction_bits - 2). Avoids a conversion
/// instruction, because i64 to f64 takes many instructions below AVX-512.
template <class B, class V>
V small_integer_to_float(B& b, V k, DType to) {
  const FloatFormat format = format_of(to);
  const V shifted = b.bitcast(to, b.add(k, b.constant_int(format.bits, format.rounder_bits)));
  return b.sub(shifted, b.constant(to, format.rounder));
}

}  // namespace millrace::math::detail
