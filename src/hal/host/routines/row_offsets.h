// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace millrace {

/// Finds where a row is in each of some tensors, in elements. `first` are the offsets of the first row. `dims` are
/// those that number rows, outermost first: for each its extent, and the stride of each tensor. In place: what a vector
/// copies from single stores waits until these are done.
inline void find_row(std::int64_t row, const std::int64_t* first, const std::int64_t* dims, std::int64_t num_dims,
                     std::size_t num_tensors, std::int64_t* offsets) {
  std::copy_n(first, num_tensors, offsets);
  for (std::int64_t dim = num_dims; dim-- > 0;) {
    const std::int64_t* const sizes = dims + dim * static_cast<std::int64_t>(1 + num_tensors);
    // A division takes as long as a short row, and most rows are those of a matrix.
    const std::int64_t position = dim == 0 ? row : row % sizes[0];
    if (dim > 0) row /= sizes[0];
    for (std::size_t tensor = 0; tensor < num_tensors; ++tensor) offsets[tensor] += position * sizes[1 + tensor];
  }
}

}  // namespace millrace
