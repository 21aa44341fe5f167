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

// sin(r) = r + r * z * S(z) and cos(r) = 1 - z / 2 + z^2 * C(z), z = r^2, for |r| <= pi / 4; minimax coefficients.
// Source: FreeBSD's k_sinf.c and k_cosf.c (the short polynomials), fdlibm's k_sin.c and k_cos.c (the long ones).
inline constexpr double kSinShort[] = {-0.166666666416265235595, 0.0083333293858894631756, -0.000198393348360966317347,
                                       0.0000027183114939898219064};
inline constexpr double kCosShort[] = {0.0416666233237390631894, -0.00138867637746099294692,
                                       0.0000243904487962774090654};
inline constexpr double kSinLong[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                                      -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                                      -2.50507602534068634195e-08, 1.58969099521155010221e-10};
inline constexpr double kCosLong[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                      2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                      2.08757232129817482790e-09, -1.13596475577881948265e-11};

/// Reduces any finite f32, widened to f64: multiplies it by each part of 1 / (2 pi) and drops whole revolutions
/// exactly. Source: Payne & Hanek, Radian reduction for trigonometric functions, SIGNUM Newsletter 18, 1983.
template <class B, class V>
ReducedAngle<V> reduce_large_f32_angle(B& b, V x) {
  constexpr std::size_t kWholeTurns = 5;  // later products are below 1 for every x
  std::array<V, std::size(kTurnParts)> turns;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    turns[i] = b.mul(x, b.constant_like(x, kTurnParts[i]));
    if (i < kWholeTurns) turns[i] = b.sub(turns[i], b.floor(turns[i]));
  }
  V sum = turns[0];
  for (std::size_t i = 1; i < turns.size(); ++i) sum = b.add(sum, turns[i]);
  const NearestInteger<V> quarters = nearest_integer(b, sum, 4);
  // Sum again, but subtract the quarters first: the sum is then near 0 and loses little precision.
  V rest = b.sub(turns[0], b.mul(quarters.value, b.constant_like(x, 0.25)));
  for (std::size_t i = 1; i < turns.size(); ++i) rest = b.add(rest, turns[i]);
  return {quarters.integer, b.mul(rest, b.constant_like(x, kTwoPi)), b.constant_like(x, 0)};
}

/// Reduces an f32 of up to 2^20, widened to f64. The multiple n has at most 20 bits, so n * kFirst33Bits is exact.
/// Source: Cody & Waite, Software Manual for the Elementary Functions, 1980.
template <class B, class V>
ReducedAngle<V> reduce_small_f32_angle(B& b, V x) {
  constexpr double kFirst33Bits = 0x1.921fb544p+0, kRest = 0x1.0b4611a626331p-34;
  const NearestInteger<V> n = nearest_integer(b, x, kTwoOverPi);
  const V first = b.mul_add(n.value, b.constant_like(x, -kFirst33Bits), x);
  return {n.integer, b.mul_add(n.value, b.constant_like(x, -kRest), first), b.constant_like(x, 0)};
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
ReducedAngle<V> reduce_f32_angle(B& b, V x) {
  const ReducedAngle<V> small = reduce_small_f32_angle(b, x), large = reduce_large_f32_angle(b, x);
  // Infinities and NaN count as small angles, and become NaN there.
  const V is_large = b.bit_and(b.lt(b.constant_like(x, 0x1p20), x), b.lt(x, b.constant_like(x, kInfinity)));
  return pick_angle(b, is_large, large, small);
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

/// An f32 is computed in f64. Precondition: x >= 0 or NaN.
template <class B, class V>
SineAndCosine<V> sine_and_cosine(B& b, V x) {
  const bool is_f64 = x.dtype == DType::kF64;
  const auto pick = [&](std::span<const double> f32, std::span<const double> f64) { return is_f64 ? f64 : f32; };
  const ReducedAngle<V> angle = is_f64 ? reduce_f64_angle(b, x) : reduce_f32_angle(b, b.convert(DType::kF64, x));
  const V r = angle.high;
  const V z = b.mul(r, r);
  const V sine = b.add(r, b.add(b.mul(b.mul(r, z), horner(b, z, pick(kSinShort, kSinLong))), angle.low));
  const V one = b.constant_like(r, 1), half_z = b.mul(z, b.constant_like(r, 0.5));
  const V first = b.sub(one, half_z);
  const V tail = b.sub(b.mul(b.mul(z, z), horner(b, z, pick(kCosShort, kCosLong))), b.mul(r, angle.low));
  const V cosine = b.add(first, b.add(b.sub(b.sub(one, first), half_z), tail));
  return {sine, cosine, angle.quarters};
}

/// Converts y to the dtype of x; NaN for infinite x. Precondition: x >= 0 or NaN.
template <class B, class V>
V finish_angle(B& b, V x, V y) {
  if (x.dtype != DType::kF64) return b.convert(DType::kF32, y);
  return b.select(b.lt(x, b.constant_like(x, kInfinity)), y, b.constant_like(x, kNaN));
}

/// Whether the bit with value `bit` is 0 in n.
template <class B, class V>
V is_bit_clear(B& b, V n, std::int64_t bit) {
  return b.eq(b.bit_and(n, b.constant_int(DType::kI64, bit)), b.constant_int(DType::kI64, 0));
}

/// sin(x + quarters * pi / 2). Precondition: x >= 0 or NaN.
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
  const auto y = detail::sin_from_quarter(b, b.abs(x), 0);
  return b.select(b.lt(x, b.constant_like(x, 0)), b.neg(y), b.select(b.eq(x, b.constant_like(x, 0)), x, y));
}

/// Cosine of x radians, for every finite x. NaN for infinities; NaN stays NaN. f32 is computed in f64.
/// Error: at most 1 ulp.
template <class B>
typename B::Value cos(B& b, typename B::Value x) {
  b.expect_floats("cos", {x});
  return detail::sin_from_quarter(b, b.abs(x), 1);
}

}  // namespace millrace::math
