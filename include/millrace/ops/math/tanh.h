// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/exp.h"

namespace millrace::math {

/// Hyperbolic tangent as E / (E + 2) with E = e^(2|x|) - 1. Keeps -0 and subnormals; +-1 from about 9.01 (f32) and
/// 19.06 (f64) on; NaN stays.
/// Error: at most 2 ulp.
template <class B>
typename B::Value tanh(B& b, typename B::Value x) {
  using V = typename B::Value;
  const bool is_f64 = x.dtype == DType::kF64;
  const V magnitude = detail::clamp(b, b.abs(x), 0, is_f64 ? 20 : 10);
  const auto reduced = detail::reduce_exp(b, b.add(magnitude, magnitude));
  // E = (2^k - 1) + 2^k * high + 2^k * tail, the first two as a sum and its exact error: the second is smaller, or the
  // first is 0.
  const V power = detail::power_of_two(b, reduced.k, x);
  const V first = b.sub(power, b.constant_like(x, 1));
  const V second = b.mul(power, reduced.high);
  const V sum = b.add(first, second);
  const V error = b.sub(second, b.sub(sum, first));
  const V e = b.add(sum, b.add(error, b.mul(power, reduced.tail)));
  return detail::copy_sign(b, b.div(e, b.add(e, b.constant_like(x, 2))), x);
}

}  // namespace millrace::math
