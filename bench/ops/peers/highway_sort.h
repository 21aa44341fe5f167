// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace millrace::peers {

// Orders rows of a row-major matrix with Highway's vqsort. No NaN. Built if MILLRACE_PEER_HIGHWAY names its sources.
// Uses the best level of the host, or only AVX2.
// Source: Blacher et al., "Vectorized and performance-portable Quicksort", 2022.

/// Sorts the values of each row: f32, f64, i32, i64, u64; 16-bit floats are mapped to u16 with the same order.
template <class T, bool is_avx2 = false>
void highway_sort(const T* x, T* values, std::int64_t rows, std::int64_t n);
/// Finds the order of each row. The order is stable for f32, where words of a 32-bit key and a 32-bit index are sorted.
/// It is not stable for i64, where pairs of 64-bit words are sorted.
template <class T, bool is_avx2 = false>
void highway_argsort(const T* x, std::int64_t* indices, std::int64_t rows, std::int64_t n);

/// The target that Highway has chosen for this host, such as "AVX3_ZEN4".
std::string highway_target();

}  // namespace millrace::peers
