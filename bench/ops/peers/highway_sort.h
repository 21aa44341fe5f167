// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace millrace::peers {

// Rows of a row-major matrix, by Highway's vqsort. No NaN. Built if MILLRACE_PEER_HIGHWAY names its sources.
// The code for the best level of the host, or held to AVX2.
// Source: Blacher et al., "Vectorized and performance-portable Quicksort", 2022.

/// Sorts the values of each row: f32, f64, i32, i64, u64; 16-bit floats as u16 that have their order.
template <class T, bool is_avx2 = false>
void highway_sort(const T* x, T* values, std::int64_t rows, std::int64_t n);
/// The order of each row. Of f32, stable: sorts 64-bit words of a key and an index. Of i64, not: sorts pairs of 64
/// bits.
template <class T, bool is_avx2 = false>
void highway_argsort(const T* x, std::int64_t* indices, std::int64_t rows, std::int64_t n);

/// The target that it runs, such as "AVX3_ZEN4".
std::string highway_target();

}  // namespace millrace::peers
