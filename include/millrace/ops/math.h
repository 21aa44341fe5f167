// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::math {

// Elementary functions as builder templates over f32 and f64: the same instructions on every target and in constant
// folding. Each states its range, special values and largest error in ulp, measured by tests/ops/math_test.cpp.
// Definitions are in math-inl.h.

template <class B>
auto exp(B& b, typename B::Value x);
template <class B>
auto log(B& b, typename B::Value x);
template <class B>
auto tanh(B& b, typename B::Value x);
template <class B>
auto sigmoid(B& b, typename B::Value x);
template <class B>
auto erf(B& b, typename B::Value x);
template <class B>
auto pow(B& b, typename B::Value x, typename B::Value y);

}  // namespace millrace::math
