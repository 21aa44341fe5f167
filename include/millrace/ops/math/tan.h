// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/sin_cos.h"

namespace millrace::math {

namespace detail {

// tan(r) = r + r * z * T(z), z = r^2, for |r| <= pi / 4, with an error below 2^-25.5; minimax coefficients.
// Source: FreeBSD's k_tanf.c.
inline constexpr double kTanShort[] = {0.333331395030791399758,  0.133392002712976742718,   0.0533812378445670393523,
                                       0.0245283181166547278873, 0.00297435743359967304927, 0.00946564784943673166728};

/// Precondition: x >= 0 or NaN, f32.
template <class B, class V>
V tan_f32(B& b, V x) {
  const ReducedAngle<V> angle = reduce_f32_angle(b, b.convert(DType::kF64, x), {});
  const V r = angle.high, z = b.mul(r, r), one = b.constant_like(r, 1);
  const V y = b.mul_add(b.mul(z, r), horner(b, z, kTanShort), r);
  // y is tan(r). If an odd number of quarter revolutions was removed, the tangent of x is -1 / y.
  const V is_even = is_bit_clear(b, angle.quarters, 1);
  return b.convert(DType::kF32, b.div(b.select(is_even, y, b.neg(one)), b.select(is_even, one, y)));
}

/// Precondition: x >= 0 or NaN, f64.
template <class B, class V>
V tan_f64(B& b, V x) {
  const SineAndCosine<V> of = sine_and_cosine(b, x);
  const V is_even = is_bit_clear(b, of.quarters, 1);
  const V above = b.select(is_even, of.sine, b.neg(of.cosine)), below = b.select(is_even, of.cosine, of.sine);
  return finish_angle(b, x, b.div(above, below));
}

}  // namespace detail

/// Tangent of x radians, for every finite x. Keeps -0 and subnormals; NaN for infinities; NaN stays NaN. f32 is
/// computed in f64. Error: at most 3 ulp (f32 1).
template <class B>
typename B::Value tan(B& b, typename B::Value x) {
  b.expect_floats("tan", {x});
  using V = typename B::Value;
  const V magnitude = b.abs(x), zero = b.constant_like(x, 0);
  const V y = x.dtype == DType::kF64 ? detail::tan_f64(b, magnitude) : detail::tan_f32(b, magnitude);
  return b.select(b.lt(x, zero), b.neg(y), b.select(b.eq(x, zero), x, y));
}

}  // namespace millrace::math
