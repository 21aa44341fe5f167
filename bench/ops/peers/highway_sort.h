// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace millrace::peers {

// Rows of a row-major matrix, by Highway's vqsort. No NaN. Built if MILLRACE_PEER_HIGHWAY names its sources.
// Uses the best level of the host, or only AVX2.
// Source: Blacher et al., "Vectorized and performance-portable Quicksort", 2022.

/// Sorts the values of each row: f32, f64, i32, i64, u64; 16-bit floats are mapped to u16 with the same order.
template <class T, bool is_avx2 = false>
void highway_sort(const T* x, T* values, std::int64_t rows, std::int64_t n);
/// Finds the order of each row. For f32 it is stable: sorts 64-bit words of a key and an index. For i64 it is not:
/// sorts pairs of 64-bit words.
template <class T, bool is_avx2 = false>
void highway_argsort(const T* x, std::int64_t* indices, std::int64_t rows, std::int64_t n);

/// The target that it runs, such as "AVX3_ZEN4".
std::string highway_target();

}  // namespace millrace::peers
