// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/reference/tensor.h"

namespace millrace::test {

/// How an output differs from the expected one; empty if dtype and shape are equal, and so are integers and bools, and
/// floats within the tolerances of onnx's runner: |found - expected| <= 1e-7 + rtol * |expected|, where rtol is 1e-3,
/// and 2^-6 for bf16. Equal infinities agree, and so do NaNs. Source: onnx/backend/test/runner/__init__.py of
/// onnx 1.23.
std::string difference_of(const reference::Tensor& found, const reference::Tensor& expected);

/// The largest difference between elements of two tensors of floats with one shape, as a share of the largest expected
/// magnitude; infinite if one of them is not finite and the other is not equal. Absolute differences up to `ignored` do
/// not count.
double share_of_largest(const reference::Tensor& found, const reference::Tensor& expected, double ignored = 0);

/// Whether dtype and shape are equal, and each element is within an ulp of the largest expected magnitude. For records
/// of sums whose terms are far larger than the sum.
bool is_within_ulp(const reference::Tensor& found, const reference::Tensor& expected);

}  // namespace millrace::test
