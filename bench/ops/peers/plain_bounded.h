// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::peers {

// Functions whose number of results depends on the elements; each returns that number. Uses the C++ library and loops.
// No NaN.

/// Finds the indices where x is not 0. Stores every index, but advances only past those to keep, so that no branch
/// depends on an element.
std::int64_t plain_nonzero(const float* x, std::int64_t n, std::int64_t* indices);
/// The different values, by std::sort and std::unique.
std::int64_t std_unique(const float* x, std::int64_t n, float* values);

struct UniqueResults {
  float* values;
  std::int64_t *inverse, *counts, *first_indices;
};
/// The different values with all other results of NumPy's unique, found with radix_argsort.
std::int64_t radix_unique(const float* x, std::int64_t n, const UniqueResults& results);

}  // namespace millrace::peers
