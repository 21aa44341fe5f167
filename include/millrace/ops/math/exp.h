// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/float_parts.h"

namespace millrace::math {
namespace detail {

// e^r = 1 + r + r^2 * P(r) for |r| <= ln(2) / 2; minimax coefficients.
inline constexpr double kExpF32[] = {0.5, 1.6666576e-01, 4.166637e-02, 8.363355e-03, 1.3941427e-03};
inline constexpr double kExpF64[] = {0.5,
                                     0.1666666666666667,
                                     0.041666666666666685,
                                     0.008333333333325966,
                                     0.0013888888888874058,
                                     0.0001984126987541059,
                                     2.4801587348146226e-05,
                                     2.7557254654312017e-06,
                                     2.755725213434117e-07,
                                     2.510552645899063e-08,
                                     2.0921851890144758e-09};

/// e^r - 1 - r.
template <class B, class V>
V exp_tail(B& b, V r) {
  const bool is_f64 = r.dtype == DType::kF64;
  const V p = horner(b, r, is_f64 ? std::span<const double>(kExpF64) : std::span<const double>(kExpF32));
  return b.mul(b.mul(r, r), p);
}

/// x = k * ln2 + high + low and e^(high + low) = 1 + high + tail, with k an integer, high exact, |high| <= 0.38.
template <class V>
struct ReducedExp {
  V k;
  V high;
  V tail;
};

/// Precondition: |x| below about 1100 (f64), 150 (f32), or NaN.
template <class B, class V>
ReducedExp<V> reduce_exp(B& b, V x) {
  const FloatFormat format = format_of(x.dtype);
  const NearestInteger<V> n = nearest_integer(b, x, kLog2E);
  const V high = b.sub(x, b.mul(n.value, b.constant_like(x, format.ln2_high)));
  const V low = b.mul(n.value, b.constant_like(x, format.ln2_low));
  return {n.integer, high, b.sub(exp_tail(b, b.sub(high, low)), low)};
}

}  // namespace detail

/// e^x for all x. Subnormal results are kept; +inf above 88.72 (f32) or 709.78 (f64); e^-inf is 0, NaN stays NaN.
/// Error: at most 1 ulp.
/// Source: Cody & Waite, Software Manual for the Elementary Functions, 1980 (the reduction).
template <class B>
typename B::Value exp(B& b, typename B::Value x) {
  b.expect_floats("exp", {x});
  const bool is_f64 = x.dtype == DType::kF64;
  const auto limited = is_f64 ? detail::clamp(b, x, -746, 710) : detail::clamp(b, x, -104, 89);
  const auto reduced = detail::reduce_exp(b, limited);
  const auto y = b.add(b.constant_like(x, 1), b.add(reduced.high, reduced.tail));
  return detail::scale(b, y, reduced.k);
}

}  // namespace millrace::math
