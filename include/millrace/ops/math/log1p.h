// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/log.h"

namespace millrace::math {

/// log(1 + x), without cancellation near 0. Keeps -0 and subnormals; -inf at -1, NaN below, +inf for +inf; NaN stays
/// NaN.
/// Error: at most 2 ulp.
/// Source: fdlibm's s_log1p.c (the rounding error of 1 + x, divided by 1 + x, is added to the logarithm).
template <class B>
typename B::Value log1p(B& b, typename B::Value x) {
  b.expect_floats("log1p", {x});
  using V = typename B::Value;
  const V one = b.constant_like(x, 1);
  const V u = b.add(one, x);
  const V lost = b.select(b.lt(one, x), b.sub(one, b.sub(u, x)), b.sub(x, b.sub(u, one)));
  const auto [k, f] = detail::split_log(b, u);
  const V y = detail::join_log(b, k, f, b.add(detail::log_rest(b, f), b.div(lost, u)));
  const V inf = b.constant_like(x, detail::kInfinity);
  const V finite = b.select(b.bit_or(b.eq(x, inf), b.eq(x, b.constant_like(x, 0))), x, y);
  const V minus_one = b.constant_like(x, -1);
  const V not_lowest = b.select(b.eq(x, minus_one), b.constant_like(x, -detail::kInfinity), finite);
  return b.select(b.lt(x, minus_one), b.constant_like(x, detail::kNaN), not_lowest);
}

}  // namespace millrace::math
