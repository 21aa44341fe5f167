// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::peers {

// What the elements of a vector decide the number of, which each returns. By the C++ library and loops. No NaN.

/// Where x is not 0. Stores each index, and keeps it if it is one, so that no branch depends on an element.
std::int64_t plain_nonzero(const float* x, std::int64_t n, std::int64_t* indices);
/// The different values, by std::sort and std::unique.
std::int64_t std_unique(const float* x, std::int64_t n, float* values);

struct UniqueResults {
  float* values;
  std::int64_t *inverse, *counts, *first_indices;
};
/// The same with all that NumPy returns, from radix_argsort.
std::int64_t radix_unique(const float* x, std::int64_t n, const UniqueResults& results);

}  // namespace millrace::peers
