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

/// The polynomial P(r).
template <class B, class V>
V exp_polynomial(B& b, V r) {
  const bool is_f64 = r.dtype == DType::kF64;
  return horner(b, r, is_f64 ? std::span<const double>(kExpF64) : std::span<const double>(kExpF32));
}

/// e^r - 1 - r.
template <class B, class V>
V exp_tail(B& b, V r) {
  return b.mul(b.mul(r, r), exp_polynomial(b, r));
}

/// x = k * ln2 + high + low and e^(high + low) = 1 + high + tail, with high exact, |high| <= 0.38. The low bits of `k`
/// are an integer, as power_of_two() and scale() take it.
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
  const V rounder = b.constant_like(x, format.rounder);
  const V shifted = b.mul_add(x, b.constant_like(x, kLog2E), rounder);
  const V k = b.sub(shifted, rounder);
  const V high = b.mul_add(k, b.constant_like(x, -format.ln2_high), x);
  const V low = b.mul(k, b.constant_like(x, -format.ln2_low));
  const V r = b.add(high, low);
  return {b.bitcast(format.bits, shifted), high, b.mul_add(b.mul(r, r), exp_polynomial(b, r), low)};
}

/// 1 + high + tail.
template <class B, class V>
V unscaled(B& b, const ReducedExp<V>& reduced) {
  return b.add(b.constant_like(reduced.high, 1), b.add(reduced.high, reduced.tail));
}

/// e^x for |x| <= 87 or NaN; neither overflows nor is subnormal.
template <class B, class V>
V exp_of_moderate(B& b, V x) {
  const auto reduced = reduce_exp(b, x);
  return b.mul(unscaled(b, reduced), power_of_two(b, reduced.k, x));
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
  return detail::scale(b, detail::unscaled(b, reduced), reduced.k);
}

}  // namespace millrace::math
