// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/exp.h"

namespace millrace::math {

/// 1 / (1 + e^-x); for negative x, e^x / (1 + e^x), because e^-x could overflow. Subnormal results are kept; 0 for
/// -inf, 1 for +inf; NaN stays NaN.
/// Error: at most 3 ulp.
template <class B>
typename B::Value sigmoid(B& b, typename B::Value x) {
  b.expect_floats("sigmoid", {x});
  const auto one = b.constant_like(x, 1);
  const auto e = exp(b, b.neg(b.abs(x)));
  return b.div(b.select(b.lt(x, b.constant_like(x, 0)), e, one), b.add(one, e));
}

}  // namespace millrace::math
