// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/exp.h"
#include "millrace/ops/math/log.h"

namespace millrace::math {
namespace detail {

// 3 * log((1 + s) / (1 - s)) / (2 * s) = 3 + z + z^2 * P(z), z = s^2, for |s| <= 0.1011; minimax coefficients.
inline constexpr double kPowLog[] = {0.5999999999999946, 0.4285714285784976,  0.3333333298382101,
                                     0.2727281203198387, 0.23066103577656139, 0.20696581402313532};

/// An unevaluated sum. `high` has at most 21 bits, so that its product with another such number is exact, with or
/// without fused multiply-add.
template <class V>
struct DoubleDouble {
  V high;
  V low;
};

/// x with its lower 32 bits cleared.
template <class B, class V>
V upper_half(B& b, V x) {
  return b.bitcast(DType::kF64, b.bit_and(b.bitcast(DType::kI64, x), b.constant_int(DType::kI64, -0x100000000)));
}

/// log2(x) to a relative error of about 2^-68. Precondition: f64, positive, finite.
/// x = 2^n * m, m near c = 1 or 1.5; s = (m - c) / (m + c).
template <class B, class V>
DoubleDouble<V> log2_double_double(B& b, V x) {
  const auto f64 = [&](double value) { return b.constant(DType::kF64, value); };
  const auto i64 = [&](std::int64_t value) { return b.constant_int(DType::kI64, value); };
  const V is_subnormal = b.lt(x, f64(0x1p-1022));
  const V bits = b.bitcast(DType::kI64, b.select(is_subnormal, b.mul(x, f64(0x1p54)), x));
  const V fraction = b.bitcast(DType::kF64, b.bit_or(b.bit_and(bits, i64(0xfffffffffffff)), i64(0x3ff0000000000000)));
  const V above_sqrt3 = b.lt(f64(1.7320508075688772), fraction);
  const V m = b.select(above_sqrt3, b.mul(fraction, f64(0.5)), fraction);
  const V exponent = b.sub(b.shr(bits, i64(52)), b.select(is_subnormal, i64(1023 + 54), i64(1023)));
  const V n = small_integer_to_float(b, b.select(above_sqrt3, b.add(exponent, i64(1)), exponent), DType::kF64);
  const V is_upper = b.lt(f64(1.224744871391589), m);
  const V c = b.select(is_upper, f64(1.5), f64(1));

  // s = s_high + s_low
  const V u = b.sub(m, c);
  const V sum = b.add(m, c);
  const V v = b.div(f64(1), sum);
  const V s = b.mul(u, v);
  const V s_high = upper_half(b, s);
  const V sum_high = upper_half(b, sum);
  const V sum_low = b.sub(m, b.sub(sum_high, c));
  const V s_low = b.mul(v, b.sub(b.sub(u, b.mul(s_high, sum_high)), b.mul(s_high, sum_low)));

  // 3 + s^2 + rest = t_high + t_low
  const V z = b.mul(s, s);
  const V rest = b.add(b.mul(b.mul(z, z), horner(b, z, kPowLog)), b.mul(s_low, b.add(s_high, s)));
  const V s_high_square = b.mul(s_high, s_high);
  const V t_high = upper_half(b, b.add(b.add(f64(3), s_high_square), rest));
  const V t_low = b.sub(rest, b.sub(b.sub(t_high, f64(3)), s_high_square));

  // (s_high + s_low) * (t_high + t_low) = p_high + p_low, then times 2 / (3 ln 2)
  const V product = b.mul(s_high, t_high);
  const V product_low = b.add(b.mul(s_low, t_high), b.mul(t_low, s));
  const V p_high = upper_half(b, b.add(product, product_low));
  const V p_low = b.sub(product_low, b.sub(p_high, product));
  const V q_high = b.mul(f64(9.61796700954437255859e-01), p_high);
  const V log2_c_low = b.select(is_upper, f64(1.35003920212974897128e-08), f64(0));
  const V log2_c_high = b.select(is_upper, f64(5.84962487220764160156e-01), f64(0));
  const V q_low =
      b.add(b.add(b.mul(f64(-7.02846165095275826516e-09), p_high), b.mul(p_low, f64(9.61796693925975554329e-01))),
            log2_c_low);
  const V high = upper_half(b, b.add(b.add(b.add(q_high, q_low), log2_c_high), n));
  return {high, b.sub(q_low, b.sub(b.sub(b.sub(high, n), log2_c_high), q_high))};
}

/// 2^(high + low). Precondition: f64; |high| <= 1100 or NaN; low is small.
template <class B, class V>
V exp2_double_double(B& b, DoubleDouble<V> x) {
  const auto f64 = [&](double value) { return b.constant(DType::kF64, value); };
  const NearestInteger<V> n = nearest_integer(b, b.add(x.high, x.low), 1);
  const V high = b.sub(x.high, n.value);
  const V f = upper_half(b, b.add(high, x.low));
  const V u = b.mul(f, f64(6.93147182464599609375e-01));
  const V v = b.add(b.mul(b.sub(x.low, b.sub(f, high)), f64(6.93147180559945286227e-01)),
                    b.mul(f, f64(-1.90465429995776804525e-09)));
  const V y = b.add(f64(1), b.add(u, b.add(v, exp_tail(b, b.add(u, v)))));
  return scale(b, y, n.integer);
}

/// |x|^y in f64, except where C defines the result as 1 but the logarithm gives another value.
template <class B, class V>
V pow_magnitude_f64(B& b, V x, V y) {
  const auto f64 = [&](double value) { return b.constant(DType::kF64, value); };
  DoubleDouble<V> log2 = log2_double_double(b, x);
  const V zero = f64(0), infinity = f64(kInfinity);
  const V is_usual = b.bit_and(b.lt(zero, x), b.lt(x, infinity));
  const V unusual = b.select(b.eq(x, zero), f64(-kInfinity), x);  // here x is 0, +inf or NaN
  log2 = {b.select(is_usual, log2.high, unusual), b.select(is_usual, log2.low, zero)};
  const V whole = b.mul(y, log2.high);
  const V y_high = upper_half(b, y);
  const V low = b.add(b.mul(b.sub(y, y_high), log2.high), b.mul(y, log2.low));
  // Far out of range, and for infinities (where the parts would be NaN), the rounded product is enough.
  const V is_moderate = b.lt(b.abs(whole), f64(1100));
  const V high = clamp(b, b.select(is_moderate, b.mul(y_high, log2.high), whole), -1100, 1100);
  return exp2_double_double(b, DoubleDouble<V>{high, b.select(is_moderate, low, zero)});
}

/// In f64, the error of a plain logarithm and exponential is far below an f32 ulp.
template <class B, class V>
V pow_magnitude_f32(B& b, V x, V y) {
  const V wide = exp(b, b.mul(b.convert(DType::kF64, y), log(b, b.convert(DType::kF64, x))));
  return b.convert(DType::kF32, wide);
}

}  // namespace detail

/// x to the power of y. Special values follow C's pow (Annex F): pow(x, +-0) and pow(1, y) are 1, even for NaN; pow(-1,
/// +-inf) is 1; a negative finite x with a non-integer y is NaN; zeros and infinities keep their sign for odd y.
/// Error: at most 1 ulp; f32 is computed in f64.
/// Source: fdlibm's e_pow.c (the split logarithm).
template <class B>
typename B::Value pow(B& b, typename B::Value x, typename B::Value y) {
  b.expect_floats("pow", {x, y});
  using V = typename B::Value;
  const bool is_f64 = x.dtype == DType::kF64;
  const V magnitude_x = b.abs(x);
  const V power = is_f64 ? detail::pow_magnitude_f64(b, magnitude_x, y) : detail::pow_magnitude_f32(b, magnitude_x, y);
  const V zero = b.constant_like(x, 0), one = b.constant_like(x, 1), infinity = b.constant_like(x, detail::kInfinity);
  const V is_integer = b.eq(b.floor(y), y);
  const V half = b.mul(y, b.constant_like(x, 0.5));
  const V is_odd = b.bit_and(is_integer, b.ne(b.floor(half), half));
  const V is_negative_finite = b.bit_and(b.lt(x, zero), b.lt(magnitude_x, infinity));
  const V is_nan = b.bit_and(is_negative_finite, b.ne(b.floor(y), y));
  const V with_sign = b.select(is_odd, detail::copy_sign(b, power, x), power);
  const V real = b.select(is_nan, b.constant_like(x, detail::kNaN), with_sign);
  const V is_minus_one_to_infinity = b.bit_and(b.eq(x, b.constant_like(x, -1)), b.eq(b.abs(y), infinity));
  const V is_one = b.bit_or(b.bit_or(b.eq(y, zero), b.eq(x, one)), is_minus_one_to_infinity);
  return b.select(is_one, one, real);
}

}  // namespace millrace::math
