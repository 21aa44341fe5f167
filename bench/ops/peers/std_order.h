// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::peers {

// Orders the rows of a row-major f32 matrix with only the C++ library. No NaN.

/// Sorts the values of each row, by std::sort.
void std_sort(const float* x, float* values, std::int64_t rows, std::int64_t n);
/// The stable order of each row, by std::stable_sort of indices.
void std_argsort(const float* x, std::int64_t* indices, std::int64_t rows, std::int64_t n);

// The k largest of each row, in order; `values` and `indices` have k columns.
void partial_sort_topk(const float* x, float* values, std::int64_t* indices, std::int64_t rows, std::int64_t n,
                       std::int64_t k);
/// By std::nth_element, then std::sort of the first k.
void nth_element_topk(const float* x, float* values, std::int64_t* indices, std::int64_t rows, std::int64_t n,
                      std::int64_t k);
/// By a binary heap of k elements, the smallest at its root. Source: the heap of FAISS (Douze et al., "The Faiss
/// library", arXiv:2401.08281).
void binary_heap_topk(const float* x, float* values, std::int64_t* indices, std::int64_t rows, std::int64_t n,
                      std::int64_t k);

/// The maximum element: the cost of reading everything once.
float read_all(const float* x, std::int64_t count);

}  // namespace millrace::peers
