// SPDX-License-Identifier: Apache-2.0
// The meaning of each lanewise op, implemented a second time: integers in __int128, floats in long double and std::.
#pragma once

#include "millrace/jit/kernel_op.h"
#include "millrace/jit/scalar.h"

namespace millrace::test {

/// Independent of src/jit: shares with `evaluate` only the Scalar struct.
Scalar reference_value(KernelOp op, DType result, std::span<const Scalar> operands);

}  // namespace millrace::test
