// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "millrace/base/dtype.h"
#include "millrace/jit/scalar.h"

namespace millrace {

/// Loads element `index` as bodies see it: f16 and bf16 widened to f32.
Scalar load_element(DType dtype, std::span<const std::byte> data, std::size_t index);
/// Stores the value, rounding it if `dtype` is f16 or bf16.
void store_element(DType dtype, std::vector<std::byte>& data, std::size_t index, Scalar value);

}  // namespace millrace
