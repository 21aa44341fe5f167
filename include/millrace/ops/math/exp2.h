// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/exp.h"

namespace millrace::math {

/// 2^x = 2^n * e^(r ln 2), where n is the nearest integer and r the exact remainder. Exact for integers. All x:
/// subnormal results are kept; +inf from 128 (f32) or 1024 (f64); 2^-inf is 0, NaN stays NaN.
/// Error: at most 2 ulp.
template <class B>
typename B::Value exp2(B& b, typename B::Value x) {
  b.expect_floats("exp2", {x});
  using V = typename B::Value;
  const bool is_f64 = x.dtype == DType::kF64;
  const V limited = is_f64 ? detail::clamp(b, x, -1080, 1025) : detail::clamp(b, x, -155, 129);
  const detail::NearestInteger<V> n = detail::nearest_integer(b, limited, 1);
  const V r = b.mul(b.sub(limited, n.value), b.constant_like(x, 0x1.62e42fefa39efp-1));
  const V y = b.add(b.constant_like(x, 1), b.add(r, detail::exp_tail(b, r)));
  return detail::scale(b, y, n.integer);
}

}  // namespace millrace::math
