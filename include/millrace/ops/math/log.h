// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/float_parts.h"

namespace millrace::math {
namespace detail {

// log((1 + s) / (1 - s)) = 2 * s + s * z * P(z), z = s^2, for |s| <= 0.1716; minimax coefficients.
inline constexpr double kLogF32[] = {6.666666e-01, 4.0000334e-01, 2.853728e-01, 2.3582765e-01};
inline constexpr double kLogF64[] = {0.6666666666666735, 0.3999999999941313,  0.28571428742766,   0.22222198531139864,
                                     0.1818356666871464, 0.15313986789491996, 0.14796624315353343};

/// x = 2^k * (1 + f) with 1 + f between sqrt(1/2) and sqrt(2). Precondition: x is positive and finite.
template <class V>
struct LogParts {
  V k;  // a float
  V f;
};

template <class B, class V>
LogParts<V> split_log(B& b, V x) {
  const FloatFormat format = format_of(x.dtype);
  const bool is_f64 = x.dtype == DType::kF64;
  const auto integer = [&](std::int64_t value) { return b.constant_int(format.bits, value); };
  // Subnormals are scaled into the normal range first.
  const V is_subnormal = b.lt(x, b.constant_like(x, is_f64 ? 0x1p-1022 : 0x1p-126));
  const V normal = b.select(is_subnormal, b.mul(x, b.constant_like(x, is_f64 ? 0x1p54 : 0x1p25)), x);
  const V shift = b.select(is_subnormal, integer(is_f64 ? 54 : 25), integer(0));
  const V bits = b.bitcast(format.bits, normal);
  const V sqrt_half = integer(is_f64 ? 0x3fe6a09e667f3bcd : 0x3f3504f3);
  const V k = b.shr(b.sub(bits, sqrt_half), integer(format.fraction_bits));
  const V m = b.bitcast(x.dtype, b.sub(bits, b.shl(k, integer(format.fraction_bits))));
  return {small_integer_to_float(b, b.sub(k, shift), x.dtype), b.sub(m, b.constant_like(x, 1))};
}

/// log(1 + f) - f.
template <class B, class V>
V log_rest(B& b, V f) {
  const bool is_f64 = f.dtype == DType::kF64;
  const V s = b.div(f, b.add(f, b.constant_like(f, 2)));
  const V z = b.mul(s, s);
  const V r = b.mul(z, horner(b, z, is_f64 ? std::span<const double>(kLogF64) : std::span<const double>(kLogF32)));
  const V half_square = b.mul(b.mul(b.constant_like(f, 0.5), f), f);
  return b.sub(b.mul(s, b.add(half_square, r)), half_square);
}

/// k * ln2 + f + rest. Represents k * ln2_high + f as a rounded sum and its error, which is exact because
/// |f| < |k * ln2_high| or k is 0.
template <class B, class V>
V join_log(B& b, V k, V f, V rest) {
  const FloatFormat format = format_of(f.dtype);
  const V high = b.mul(k, b.constant_like(f, format.ln2_high));
  const V sum = b.add(high, f);
  const V error = b.sub(f, b.sub(sum, high));
  const V low = b.mul_add(k, b.constant_like(f, format.ln2_low), rest);
  return b.add(sum, b.add(error, low));
}

/// `y`, replaced where x has no finite logarithm.
template <class B, class V>
V finish_log(B& b, V x, V y) {
  const V zero = b.constant_like(x, 0);
  const V finite = b.select(b.lt(x, b.constant_like(x, kInfinity)), y, x);
  const V not_zero = b.select(b.eq(x, zero), b.constant_like(x, -kInfinity), finite);
  return b.select(b.lt(x, zero), b.constant_like(x, kNaN), not_zero);
}

}  // namespace detail

/// Natural logarithm. Subnormal inputs lose no accuracy; -inf for 0 and -0, NaN below 0, +inf for +inf; NaN stays NaN.
/// Error: at most 1 ulp, even near 1.
/// Source: fdlibm's e_log.c (the form of the polynomial part).
template <class B>
typename B::Value log(B& b, typename B::Value x) {
  b.expect_floats("log", {x});
  const auto [k, f] = detail::split_log(b, x);
  return detail::finish_log(b, x, detail::join_log(b, k, f, detail::log_rest(b, f)));
}

}  // namespace millrace::math
