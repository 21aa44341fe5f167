// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::peers {

// Rows of a row-major f32 matrix, by Highway's vqsort. No NaN. Built if MILLRACE_PEER_HIGHWAY names its sources.
// Source: Blacher et al., "Vectorized and performance-portable Quicksort", 2022.

// The code for the best level of the host, or held to AVX2.

/// Sorts the values of each row.
void highway_sort(const float* x, float* values, std::int64_t rows, std::int64_t n);
void highway_sort_avx2(const float* x, float* values, std::int64_t rows, std::int64_t n);
/// The stable order of each row: sorts 64-bit words of a key and an index.
void highway_argsort(const float* x, std::int64_t* indices, std::int64_t rows, std::int64_t n);
void highway_argsort_avx2(const float* x, std::int64_t* indices, std::int64_t rows, std::int64_t n);

}  // namespace millrace::peers
