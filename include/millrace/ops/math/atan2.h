// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/float_parts.h"

namespace millrace::math {
namespace detail {

// atan(t) = t - t * z * P(z), z = t^2, for |t| <= 7/16; minimax coefficients. Source: FreeBSD's s_atanf.c (the short
// polynomial), fdlibm's s_atan.c (the long one).
inline constexpr double kAtanShort[] = {3.3333328366e-01, -1.9999158382e-01, 1.4253635705e-01, -1.0648017377e-01,
                                        6.1687607318e-02};
inline constexpr double kAtanLong[] = {
    3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01, -1.11111104054623557880e-01,
    9.09088713343650656196e-02, -7.69187620504482999495e-02, 6.66107313738753120669e-02, -5.83357013379057348645e-02,
    4.97687799461593236017e-02, -3.65315727442169155270e-02, 1.62858201153657823623e-02};
// Multiples of pi, each in two parts.
inline constexpr double kQuarterPi = 0x1.921fb54442d18p-1, kQuarterPiLow = 0x1.1a62633145c07p-55;
inline constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54;
inline constexpr double kPi = 0x1.921fb54442d18p+1, kPiLow = 0x1.1a62633145c07p-53;

/// atan(t) for 0 <= t <= 1. For t > tan(pi / 8), computed as pi / 4 + atan((t - 1) / (t + 1)).
template <class B, class V>
V atan_of_ratio(B& b, V t, bool is_long) {
  const auto like = [&](double value) { return b.constant_like(t, value); };
  const V is_rotated = b.lt(like(0.41421356237309503), t);
  const V r = b.select(is_rotated, b.div(b.sub(t, like(1)), b.add(t, like(1))), t);
  const V z = b.mul(r, r);
  const V p = horner(b, z, is_long ? std::span<const double>(kAtanLong) : std::span<const double>(kAtanShort));
  const V bend = b.mul(b.mul(r, z), p);
  const V rotated = b.add(like(kQuarterPi), b.add(r, b.sub(like(kQuarterPiLow), bend)));
  return b.select(is_rotated, rotated, b.sub(r, bend));
}

/// atan2 in f64. f32 operands are widened, and use the short polynomial.
template <class B, class V>
V atan2_in_f64(B& b, V y, V x, bool is_long) {
  const auto like = [&](double value) { return b.constant_like(y, value); };
  const V rise = b.abs(y), run = b.abs(x);
  const V is_steep = b.lt(run, rise);
  const V low = b.select(is_steep, run, rise), high = b.select(is_steep, rise, run);
  // As in C, 0 / 0 counts as 0 and inf / inf as 1.
  const V is_zero = b.eq(b.add(low, high), like(0)), is_even = b.eq(low, high);
  const V t = b.select(is_zero, like(0), b.select(is_even, like(1), b.div(low, high)));
  V angle = atan_of_ratio(b, t, is_long);
  angle = b.select(is_steep, b.add(b.sub(like(kHalfPi), angle), like(kHalfPiLow)), angle);
  const V is_behind = b.lt(b.bitcast(DType::kI64, x), b.constant_int(DType::kI64, 0));  // -0 too
  angle = b.select(is_behind, b.add(b.sub(like(kPi), angle), like(kPiLow)), angle);
  return copy_sign(b, angle, y);
}

}  // namespace detail

/// The angle of the point (x, y), in [-pi, pi]; equal to atan(y / x) for x > 0. Signed zeros and infinities behave as
/// in C's atan2; NaN if either operand is NaN. f32 is computed in f64.
/// Error: at most 3 ulp (f32 1).
template <class B>
typename B::Value atan2(B& b, typename B::Value y, typename B::Value x) {
  b.expect_floats("atan2", {y, x});
  if (y.dtype == DType::kF64) return detail::atan2_in_f64(b, y, x, /*is_long=*/true);
  const auto wide = [&](auto v) { return b.convert(DType::kF64, v); };
  return b.convert(DType::kF32, detail::atan2_in_f64(b, wide(y), wide(x), /*is_long=*/false));
}

}  // namespace millrace::math
