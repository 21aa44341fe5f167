// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "millrace/ops/math/float_parts.h"
#include "millrace/ops/math/large_angle.h"

namespace millrace::math {
namespace detail {

// The bits of 1 / (2 pi), 29 at a time: the product of an f32 and one part is exact in f64.
inline constexpr double kTurnParts[] = {0x1.45f306cp-3,   0x1.c9c882ap-31,  0x1.4fe13a8p-61, 0x1.f47d4d3p-88,
                                        0x1.dc0db62p-118, 0x1.2b32788p-147, 0x1.c820ffp-177};
// pi / 2 as the sum of three parts of at most 27 bits and a remainder. The multiple n in reduce_small_angle is at most
// 2^28 / pi, so its product with each of the three parts is exact.
inline constexpr double kHalfPiParts[] = {0x1.921fb54p+0, 0x1.10b46p-30, 0x1.1a6263p-54, 0x1.8a2e03707344ap-81};
inline constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
inline constexpr double kTwoPi = 0x1.921fb54442d18p+2;

// sin(r) = r + r * z * S(z), z = r^2, for |r| <= pi / 2, with an error below 2^-27; minimax coefficients.
inline constexpr double kSinShort[] = {-0x1.55554bc63416fp-3, 0x1.110ed3269a4ffp-7, -0x1.9f6fed582541ap-13,
                                       0x1.5dbce9d09bf91p-19};
// The same, and cos(r) = 1 - z / 2 + z^2 * C(z), for |r| <= pi / 4; minimax coefficients.
// Source: fdlibm's k_sin.c and k_cos.c.
inline constexpr double kSinLong[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                                      -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                                      -2.50507602534068634195e-08, 1.58969099521155010221e-10};
inline constexpr double kCosLong[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                      2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                      2.08757232129817482790e-09, -1.13596475577881948265e-11};

/// What a reduction subtracts from an angle: n + offset steps. A revolution has `per_turn` steps.
struct AngleStep {
  int per_turn = 4;
  double offset = 0;
};

/// The n nearest to `turns` * per_turn - offset.
template <class B, class V>
NearestInteger<V> nearest_step(B& b, V turns, double factor, const AngleStep& step) {
  if (step.offset == 0) return nearest_integer(b, turns, factor);
  return nearest_integer(b, b.mul_add(turns, b.constant_like(turns, factor), b.constant_like(turns, -step.offset)), 1);
}

template <class B, class V>
V with_offset(B& b, V n, const AngleStep& step) {
  return step.offset == 0 ? n : b.add(n, b.constant_like(n, step.offset));
}

/// Reduces any finite f32, widened to f64: multiplies it by each part of 1 / (2 pi) and drops whole revolutions
/// exactly. Source: Payne & Hanek, Radian reduction for trigonometric functions, SIGNUM Newsletter 18, 1983.
template <class B, class V>
ReducedAngle<V> reduce_large_f32_angle(B& b, V x, const AngleStep& step) {
  constexpr std::size_t kWholeTurns = 5;  // later products are below 1 for every x
  std::array<V, std::size(kTurnParts)> turns;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    turns[i] = b.mul(x, b.constant_like(x, kTurnParts[i]));
    if (i < kWholeTurns) turns[i] = b.sub(turns[i], b.floor(turns[i]));
  }
  V sum = turns[0];
  for (std::size_t i = 1; i < turns.size(); ++i) sum = b.add(sum, turns[i]);
  const NearestInteger<V> n = nearest_step(b, sum, step.per_turn, step);
  // Sum again, but subtract the steps first: the sum is then near 0 and loses little precision.
  const V taken = b.mul(with_offset(b, n.value, step), b.constant_like(x, 1.0 / step.per_turn));
  V rest = b.sub(turns[0], taken);
  for (std::size_t i = 1; i < turns.size(); ++i) rest = b.add(rest, turns[i]);
  return {n.integer, b.mul(rest, b.constant_like(x, kTwoPi)), b.constant_like(x, 0)};
}

/// Reduces an f32 of up to 2^20, widened to f64. n + offset has at most 20 bits, so its product with the first 33 bits
/// of a step is exact.
/// Source: Cody & Waite, Software Manual for the Elementary Functions, 1980.
template <class B, class V>
ReducedAngle<V> reduce_small_f32_angle(B& b, V x, const AngleStep& step) {
  constexpr double kFirst33Bits = 0x1.921fb544p+0, kRest = 0x1.0b4611a626331p-34;  // of a quarter
  const double quarters = 4.0 / step.per_turn;
  const NearestInteger<V> n = nearest_step(b, x, kTwoOverPi / quarters, step);
  const V steps = with_offset(b, n.value, step);
  const V first = b.mul_add(steps, b.constant_like(x, -kFirst33Bits * quarters), x);
  return {n.integer, b.mul_add(steps, b.constant_like(x, -kRest * quarters), first), b.constant_like(x, 0)};
}

/// Selects between two reductions of an angle: `large`, which is slower to compute, if `is_large`; otherwise `small`.
template <class B, class V>
ReducedAngle<V> pick_angle(B& b, V is_large, const ReducedAngle<V>& large, const ReducedAngle<V>& small) {
  const V quarters = b.select_rarely(is_large, large.quarters, small.quarters);
  const V high = b.select_rarely(is_large, large.high, small.high);
  return {quarters, high, b.select_rarely(is_large, large.low, small.low)};
}

/// Reduces any finite f32, widened to f64.
template <class B, class V>
ReducedAngle<V> reduce_f32_angle(B& b, V x, const AngleStep& step) {
  const ReducedAngle<V> small = reduce_small_f32_angle(b, x, step), large = reduce_large_f32_angle(b, x, step);
  // Infinities and NaN count as small angles, and become NaN there.
  const V magnitude = b.abs(x);
  const V is_large =
      b.bit_and(b.lt(b.constant_like(x, 0x1p20), magnitude), b.lt(magnitude, b.constant_like(x, kInfinity)));
  return pick_angle(b, is_large, large, small);
}

/// The sine of an f32, or its cosine, computed in f64: of x = n pi + r or (n + 1 / 2) pi + r, the sine of r or its
/// negative. -0 may become 0.
template <class B, class V>
V sin_f32(B& b, V x, bool is_cosine) {
  const AngleStep step{2, is_cosine ? 0.5 : 0};
  const ReducedAngle<V> angle = reduce_f32_angle(b, b.convert(DType::kF64, x), step);
  const V r = angle.high, z = b.mul(r, r);
  const V sine = b.mul_add(b.mul(r, z), horner(b, z, kSinShort), r);
  const V n = is_cosine ? b.add(angle.quarters, b.constant_int(DType::kI64, 1)) : angle.quarters;
  const V sign = b.shl(n, b.constant_int(DType::kI64, 63));
  return b.convert(DType::kF32, b.bitcast(DType::kF64, b.bit_xor(b.bitcast(DType::kI64, sine), sign)));
}

/// Reduces an f64 of up to 2^27.
/// Source: Cody & Waite, Software Manual for the Elementary Functions, 1980.
template <class B, class V>
ReducedAngle<V> reduce_small_angle(B& b, V x) {
  const NearestInteger<V> n = nearest_integer(b, x, kTwoOverPi);
  const auto times = [&](std::size_t part) { return b.mul(n.value, b.constant_like(x, kHalfPiParts[part])); };
  const V first = b.sub(b.sub(x, times(0)), times(1));  // exact
  // Subtract n times the third part: `high` is the difference, `error` its exact error. Source: Knuth, TAOCP 2, 4.2.2.
  const V third = times(2);
  const V high = b.sub(first, third);
  const V taken = b.sub(high, first);
  const V error = b.sub(b.sub(first, b.sub(high, taken)), b.add(third, taken));
  const V low = b.sub(error, times(3));
  const V sum = b.add(high, low);
  return {n.integer, sum, b.add(b.sub(high, sum), low)};
}

/// Reduces any f64.
template <class B, class V>
ReducedAngle<V> reduce_f64_angle(B& b, V x) {
  const ReducedAngle<V> small = reduce_small_angle(b, x), large = reduce_large_angle(b, x);
  return pick_angle(b, b.lt(b.constant_like(x, 0x1p27), x), large, small);
}

/// The reduced angle's sine and cosine, and the multiple of pi / 2 that the reduction removed.
template <class V>
struct SineAndCosine {
  V sine;
  V cosine;
  V quarters;
};

/// The sine and cosine of an f64 that is not negative, or NaN.
template <class B, class V>
SineAndCosine<V> sine_and_cosine(B& b, V x) {
  const ReducedAngle<V> angle = reduce_f64_angle(b, x);
  const V r = angle.high;
  const V z = b.mul(r, r);
  const V sine = b.add(r, b.add(b.mul(b.mul(r, z), horner(b, z, kSinLong)), angle.low));
  const V one = b.constant_like(r, 1), half_z = b.mul(z, b.constant_like(r, 0.5));
  const V first = b.sub(one, half_z);
  const V tail = b.sub(b.mul(b.mul(z, z), horner(b, z, kCosLong)), b.mul(r, angle.low));
  const V cosine = b.add(first, b.add(b.sub(b.sub(one, first), half_z), tail));
  return {sine, cosine, angle.quarters};
}

/// y; NaN for infinite x. Precondition: x >= 0 or NaN, f64.
template <class B, class V>
V finish_angle(B& b, V x, V y) {
  return b.select(b.lt(x, b.constant_like(x, kInfinity)), y, b.constant_like(x, kNaN));
}

/// Whether the bit with value `bit` is 0 in n.
template <class B, class V>
V is_bit_clear(B& b, V n, std::int64_t bit) {
  return b.eq(b.bit_and(n, b.constant_int(DType::kI64, bit)), b.constant_int(DType::kI64, 0));
}

/// sin(x + quarters * pi / 2). Precondition: x >= 0 or NaN, f64.
template <class B, class V>
V sin_from_quarter(B& b, V x, std::int64_t quarters) {
  const SineAndCosine<V> of = sine_and_cosine(b, x);
  const V n = b.add(of.quarters, b.constant_int(DType::kI64, quarters));
  const V y = b.select(is_bit_clear(b, n, 1), of.sine, of.cosine);
  return finish_angle(b, x, b.select(is_bit_clear(b, n, 2), y, b.neg(y)));
}

}  // namespace detail

/// Sine of x radians, for every finite x. Keeps -0 and subnormals; NaN for infinities; NaN stays NaN. f32 is computed
/// in f64.
/// Error: at most 1 ulp.
template <class B>
typename B::Value sin(B& b, typename B::Value x) {
  b.expect_floats("sin", {x});
  const auto zero = b.constant_like(x, 0);
  if (x.dtype != DType::kF64) return b.select(b.eq(x, zero), x, detail::sin_f32(b, x, false));
  const auto y = detail::sin_from_quarter(b, b.abs(x), 0);
  return b.select(b.lt(x, zero), b.neg(y), b.select(b.eq(x, zero), x, y));
}

/// Cosine of x radians, for every finite x. NaN for infinities; NaN stays NaN. f32 is computed in f64.
/// Error: at most 1 ulp.
template <class B>
typename B::Value cos(B& b, typename B::Value x) {
  b.expect_floats("cos", {x});
  if (x.dtype != DType::kF64) return detail::sin_f32(b, x, true);
  return detail::sin_from_quarter(b, b.abs(x), 1);
}

}  // namespace millrace::math
