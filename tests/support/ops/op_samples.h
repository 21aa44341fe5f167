// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>

#include "tests/op_cases.h"

namespace millrace::test {

/// The dtype of one operand when a row is tried with `dtype`: select's condition is bool, indices i32 or i64,
/// the second operand of dot_i32 and conv2d_i32 i8.
DType operand_dtype(Op op, std::size_t operand, DType dtype);

/// The problem's attributes for `dtype`: iota has its dtype there, and bit_cast a dtype as wide.
Attributes attributes_for(const OpProblem& problem, DType dtype);

/// Operands of a problem: numbers of the row's domain, mixed with zeros of both signs, infinities, NaN, extremes and
/// ties where the op does not accumulate; indices are in range, negative ones too.
std::vector<reference::Tensor> sample_operands(const OpCase& row, const OpProblem& problem, DType dtype,
                                               std::mt19937_64& random);

/// A tensor of special values and ties only.
reference::Tensor sample_specials(DType dtype, const reference::Extents& extents, std::mt19937_64& random);

}  // namespace millrace::test
