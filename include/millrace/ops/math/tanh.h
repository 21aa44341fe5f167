// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/exp.h"

namespace millrace::math {

/// Hyperbolic tangent as E / (E + 2) with E = e^(2|x|) - 1. Keeps -0 and subnormals; +-1 from about 9.01 (f32) and
/// 19.06 (f64); NaN stays NaN.
/// Error: at most 2 ulp.
template <class B>
typename B::Value tanh(B& b, typename B::Value x) {
  b.expect_floats("tanh", {x});
  using V = typename B::Value;
  const bool is_f64 = x.dtype == DType::kF64;
  const V magnitude = detail::clamp(b, b.abs(x), 0, is_f64 ? 20 : 10);
  const auto reduced = detail::reduce_exp(b, b.add(magnitude, magnitude));
  // E = (2^k - 1) + 2^k * high + 2^k * tail. The first two terms are added exactly, as a sum and its error. This works
  // because the second term is smaller than the first, or the first is 0.
  const V power = detail::power_of_two(b, reduced.k, x);
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
  return detail::copy_sign(b, b.sub(q, b.mul(b.mul(q, lost), half_rest)), x);
}

}  // namespace millrace::math
