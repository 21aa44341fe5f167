// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/exp.h"

namespace millrace::math {

/// e^x - 1, without cancellation near 0. Keeps -0 and subnormals; gives -1 if x is below about -17.4 (f32) or
/// -37.5 (f64), and +inf if e^x is +inf; NaN stays NaN.
/// Error: at most 2 ulp.
template <class B>
typename B::Value expm1(B& b, typename B::Value x) {
  b.expect_floats("expm1", {x});
  using V = typename B::Value;
  const bool is_f64 = x.dtype == DType::kF64;
  const V one = b.constant_like(x, 1);
  const V limited = is_f64 ? detail::clamp(b, x, -45, 710) : detail::clamp(b, x, -25, 89);
  const auto reduced = detail::reduce_exp(b, limited);
  // e^x - 1 = (2^k - 1) + 2^k * high + 2^k * tail. The first two terms are added exactly, as a sum and its error,
  // because the second term is smaller than the first, or the first is 0. If x is large, the -1 has no effect and 2^k
  // might overflow, so `far` is e^x, scaled at the end.
  const V power = detail::power_of_two(b, reduced.k, x);
  const V first = b.sub(power, one);
  const V second = b.mul(power, reduced.high);
  const V sum = b.add(first, second);
  const V error = b.sub(second, b.sub(sum, first));
  const V near = b.add(sum, b.add(error, b.mul(power, reduced.tail)));
  const V far = detail::scale(b, detail::unscaled(b, reduced), reduced.k);
  const V y = b.select(b.lt(limited, b.constant_like(x, is_f64 ? 40 : 20)), near, far);
  return detail::copy_sign(b, b.abs(y), x);
}

}  // namespace millrace::math
