// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/exp.h"

namespace millrace::math {
namespace detail {

// For |x| below 0.921875 (f32) or 1 (f64), erf(x) = x + x * P(x^2); otherwise erf(|x|) = 1 - e^-(|x| + |x| * Q(|x|)).
// Minimax coefficients.
inline constexpr double kErfLowF32[] = {1.2837917e-01, -3.7612635e-01, 1.1283696e-01, -2.6859399e-02,
                                        5.2010324e-03, -8.1427046e-04, 8.370101e-05};
inline constexpr double kErfHighF32[] = {1.2865317e-01, 6.3513184e-01, 1.0626987e-01, -2.3791116e-02,
                                         3.656479e-03,  -3.263176e-04, 1.1588443e-05};
inline constexpr double kErfLowF64[] = {0.1283791670955126,      -0.3761263890318375,     0.11283791670954857,
                                        -0.026866170645072893,   0.005223977624780862,    -0.000854832697874194,
                                        0.0001205533103689036,   -1.4925593506671345e-05, 1.646097281353705e-06,
                                        -1.6350025185895177e-07, 1.4657879597306717e-08,  -1.136566502864451e-09,
                                        5.945260200617797e-11};
inline constexpr double kErfHighF64[] = {
    0.12837920106130915,    0.6366193647115189,      0.10277490042825117,    -0.019136531738959083,
    -0.0001892552682800786, 0.001659569138134955,    -0.0005380988782228641, -3.2532958562153114e-05,
    0.00011702529674924142, -6.774762339160125e-05,  2.5433138721637576e-05, -7.141714274630043e-06,
    1.5580258306391652e-06, -2.6525974129875566e-07, 3.47399957331075e-08,   -3.3880305394019297e-09,
    2.3194472718241178e-10, -9.946709398449919e-12,  2.0098762409939734e-13};

}  // namespace detail

/// Error function. Keeps -0 and subnormals; gives +-1 if |x| is above about 3.92 (f32) or 5.93 (f64); NaN stays NaN.
/// Error: at most 2 ulp.
template <class B>
typename B::Value erf(B& b, typename B::Value x) {
  b.expect_floats("erf", {x});
  using V = typename B::Value;
  const bool is_f64 = x.dtype == DType::kF64;
  const auto pick = [&](std::span<const double> f32, std::span<const double> f64) { return is_f64 ? f64 : f32; };
  const V magnitude = b.abs(x);
  const V low = b.mul_add(x, detail::horner(b, b.mul(x, x), pick(detail::kErfLowF32, detail::kErfLowF64)), x);
  const V t = detail::at_most(b, magnitude, is_f64 ? 6 : 4);
  const V exponent = b.mul_add(t, detail::horner(b, t, pick(detail::kErfHighF32, detail::kErfHighF64)), t);
  const V high = b.sub(b.constant_like(x, 1), detail::exp_of_moderate(b, b.neg(exponent)));
  const V is_low = b.lt(magnitude, b.constant_like(x, is_f64 ? 1.0 : 0.921875));
  return b.select(is_low, low, detail::copy_sign(b, high, x));
}

}  // namespace millrace::math
