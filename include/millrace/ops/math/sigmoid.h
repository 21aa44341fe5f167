// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/exp.h"

namespace millrace::math {

/// 1 / (1 + e^-x), as s / (s + s * e^-x) with a power of two s, so small that s * e^-x is finite wherever the result is
/// above 0. Subnormal results are kept; 0 for -inf, 1 for +inf; NaN stays NaN.
/// Error: at most 3 ulp.
template <class B>
typename B::Value sigmoid(B& b, typename B::Value x) {
  b.expect_floats("sigmoid", {x});
  const bool is_f64 = x.dtype == DType::kF64;
  // Below the first limit, e^-x is lost in the sum with 1; beyond the second, the result rounds to 0.
  const auto limited = is_f64 ? detail::clamp(b, b.neg(x), -40, 746) : detail::clamp(b, b.neg(x), -20, 104);
  const auto reduced = detail::reduce_exp(b, limited);
  const auto s = b.constant_like(x, is_f64 ? 0x1p-64 : 0x1p-32);
  const auto power = detail::power_of_two(b, reduced.k, x, is_f64 ? -64 : -32);
  return b.div(s, b.mul_add(detail::unscaled(b, reduced), power, s));
}

}  // namespace millrace::math
