// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "millrace/ops/op.h"
#include "tests/reference/tensor.h"

namespace millrace::reference {

/// What every op means, by plain loops over std:: numbers wider than the dtype (__int128 for integers, long double for
/// f64, double otherwise), rounded once at the end. Shares nothing with the library but types and attributes; result
/// shapes are its own. Precondition: operands that the op takes.
std::vector<Tensor> evaluate(Op op, const Attributes& attributes, std::span<const Tensor> operands);

/// How far each element of a floating-point result may be from `evaluate`, for ops that accumulate:
/// points * eps * sum of the terms' magnitudes, and one rounding to the result's dtype. Empty for other ops.
std::vector<long double> accumulation_bound(Op op, const Attributes& attributes, std::span<const Tensor> operands);

/// |found - expected| in units in the last place of `expected`; 0 for two NaN and for equal values (-0 equals +0),
/// infinity when one alone is NaN or infinite. Precondition: a float dtype.
long double ulp_distance(DType dtype, long double found, long double expected);

}  // namespace millrace::reference
