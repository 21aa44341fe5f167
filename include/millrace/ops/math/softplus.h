// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/exp.h"
#include "millrace/ops/math/log1p.h"

namespace millrace::math {

/// log(1 + e^x) as max(x, 0) + log1p(e^-|x|), which neither overflows nor loses small results. +inf for +inf, 0 for
/// -inf; NaN stays NaN.
/// Error: at most 2 ulp.
/// Source: Dugas et al., Incorporating second-order functional knowledge for better option pricing, NIPS 2000.
template <class B>
typename B::Value softplus(B& b, typename B::Value x) {
  b.expect_floats("softplus", {x});
  const auto zero = b.constant_like(x, 0);
  const auto rest = log1p(b, exp(b, b.neg(b.abs(x))));
  return b.add(b.select(b.lt(zero, x), x, zero), rest);
}

}  // namespace millrace::math
