// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::math {

// Elementary functions as builder templates over f32 and f64: the same instructions on every target and in constant
// folding, made of lanewise ops alone. Each file states range, special values and largest error, measured by
// tests/ops/math_test.cpp with mul_add fused and unfused. Definitions: math-inl.h, which an application's own kernel
// includes.
//
//                 largest error in ulp, f32 | f64
//     exp         1 | 1
//     log         1 | 1
//     tanh        2 | 2
//     sigmoid     3 | 3
//     erf         2 | 2
//     pow         1 | 1
//     expm1       2 | 2
//     log1p       2 | 2
//     sin         1 | 1
//     cos         1 | 1

template <class B>
typename B::Value exp(B& b, typename B::Value x);
template <class B>
typename B::Value log(B& b, typename B::Value x);
template <class B>
typename B::Value tanh(B& b, typename B::Value x);
template <class B>
typename B::Value sigmoid(B& b, typename B::Value x);
template <class B>
typename B::Value erf(B& b, typename B::Value x);
template <class B>
typename B::Value expm1(B& b, typename B::Value x);
template <class B>
typename B::Value log1p(B& b, typename B::Value x);
template <class B>
typename B::Value sin(B& b, typename B::Value x);
template <class B>
typename B::Value cos(B& b, typename B::Value x);
template <class B>
typename B::Value pow(B& b, typename B::Value x, typename B::Value y);

}  // namespace millrace::math
