// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::peers {

/// The stable order of each row of a row-major f32 matrix, by a radix sort of words of a key and an index: three digits
/// of 11 bits, the lowest first, counted in one pass. No NaN.
/// Source: Herf, "Radix tricks", 2001; Terdiman, "Radix sort revisited", 2000.
void radix_argsort(const float* x, std::int64_t* indices, std::int64_t rows, std::int64_t n);

}  // namespace millrace::peers
