// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/sin_cos.h"

namespace millrace::math {

/// Tangent of x radians as sin / cos, for every finite x. Keeps -0 and subnormals; NaN for infinities; NaN stays NaN.
/// f32 is computed in f64.
/// Error: at most 3 ulp (f32 1).
template <class B>
typename B::Value tan(B& b, typename B::Value x) {
  b.expect_floats("tan", {x});
  using V = typename B::Value;
  const V magnitude = b.abs(x), zero = b.constant_like(x, 0);
  const detail::SineAndCosine<V> of = detail::sine_and_cosine(b, magnitude);
  const V is_even = detail::is_bit_clear(b, of.quarters, 1);
  const V above = b.select(is_even, of.sine, b.neg(of.cosine)), below = b.select(is_even, of.cosine, of.sine);
  const V y = detail::finish_angle(b, magnitude, b.div(above, below));
  return b.select(b.lt(x, zero), b.neg(y), b.select(b.eq(x, zero), x, y));
}

}  // namespace millrace::math
