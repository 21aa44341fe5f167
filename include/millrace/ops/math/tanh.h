// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/exp.h"

namespace millrace::math {

namespace detail {

// For |x| below 0.6, tanh(x) = x * (1 + x^2 * P(x^2)); minimax coefficients.
inline constexpr double kTanhLowF32[] = {-0.33333298563957214, 0.13331924378871918, -0.053783830255270004,
                                         0.020795971155166626, -0.005895158275961876};

/// Takes P below 0.6, and 1 - 2 / (e^(2|x|) + 1) from there on.
template <class B, class V>
V tanh_f32(B& b, V x) {
  const V one = b.constant_like(x, 1);
  const V magnitude = b.abs(x);
  const V limited = at_most(b, magnitude, 10);
  const V e = exp_of_moderate(b, b.add(limited, limited));
  const V high = b.sub(one, b.div(b.constant_like(x, 2), b.add(e, one)));
  const V square = b.mul(x, x);
  const V low = b.mul(x, b.mul_add(square, horner(b, square, std::span<const double>(kTanhLowF32)), one));
  return b.select(b.lt(magnitude, b.constant_like(x, 0.6)), low, copy_sign(b, high, x));
}

/// |tanh(x)| = E / (E + 2), where E = e^(2|x|) - 1.
template <class B, class V>
V tanh_f64(B& b, V x) {
  const V magnitude = at_most(b, b.abs(x), 20);
  const auto reduced = reduce_exp(b, b.add(magnitude, magnitude));
  // E = (2^k - 1) + 2^k * high + 2^k * tail. The first two terms are added exactly, as a sum and its error. This works
  // because the second term is smaller than the first, or the first is 0.
  const V power = power_of_two(b, reduced.k, x);
  const V first = b.sub(power, b.constant_like(x, 1));
  const V second = b.mul(power, reduced.high);
  const V sum = b.add(first, second);
  const V error = b.sub(second, b.sub(sum, first));
  const V e = b.add(sum, b.add(error, b.mul(power, reduced.tail)));
  // Rounding E + 2 loses up to half an ulp, which matters most if the quotient q is below 1/2. Correct q to
  // q - q * lost / (E + 2), with 1 / (E + 2) = (1 - q) / 2.
  const V two = b.constant_like(x, 2);
  const V divisor = b.add(e, two);
  const V lost = b.select(b.lt(e, two), b.sub(e, b.sub(divisor, two)), b.constant_like(x, 0));
  const V q = b.div(e, divisor);
  const V half_rest = b.mul(b.sub(b.constant_like(x, 1), q), b.constant_like(x, 0.5));
  return copy_sign(b, b.sub(q, b.mul(b.mul(q, lost), half_rest)), x);
}

}  // namespace detail

/// Hyperbolic tangent. Keeps -0 and subnormals; +-1 from about 9.01 (f32) and 19.06 (f64); NaN stays NaN.
/// Error: at most 2 ulp.
template <class B>
typename B::Value tanh(B& b, typename B::Value x) {
  b.expect_floats("tanh", {x});
  return x.dtype == DType::kF64 ? detail::tanh_f64(b, x) : detail::tanh_f32(b, x);
}

}  // namespace millrace::math
