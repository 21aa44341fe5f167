// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/log.h"

namespace millrace::math {

/// Logarithm to base 2: k + log(1 + f) / ln 2 for x = 2^k * (1 + f), so powers of two are exact. Subnormal inputs are
/// exact; -inf for 0 and -0, NaN below 0, +inf for +inf; NaN stays NaN.
/// Error: at most 2 ulp, even near 1.
template <class B>
typename B::Value log2(B& b, typename B::Value x) {
  b.expect_floats("log2", {x});
  using V = typename B::Value;
  const auto [k, f] = detail::split_log(b, x);
  const V part = b.mul(b.add(f, detail::log_rest(b, f)), b.constant_like(x, detail::kLog2E));
  return detail::finish_log(b, x, b.add(k, part));
}

}  // namespace millrace::math
