// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace {

/// Writes a row's offset in each tensor to `offsets`, in elements. `first` has the offsets of the first row. `dims` has
/// the dims that index the rows, outermost first: each dim's extent, then its stride in each tensor. The offsets are
/// not returned by value, because the vector loads that copy them would wait for these scalar stores.
inline void find_row(std::int64_t row, const std::int64_t* first, const std::int64_t* dims, std::int64_t num_dims,
                     std::size_t num_tensors, std::int64_t* offsets) {
  // Not std::copy_n: for short rows, the call of memmove takes as long as the rest.
  for (std::size_t tensor = 0; tensor < num_tensors; ++tensor) offsets[tensor] = first[tensor];
  for (std::int64_t dim = num_dims; dim-- > 0;) {
    const std::int64_t* const sizes = dims + dim * static_cast<std::int64_t>(1 + num_tensors);
    // Skips the division by the outermost extent: a division takes as long as a short row, and most inputs are
    // matrices.
    const std::int64_t position = dim == 0 ? row : row % sizes[0];
    if (dim > 0) row /= sizes[0];
    for (std::size_t tensor = 0; tensor < num_tensors; ++tensor) offsets[tensor] += position * sizes[1 + tensor];
  }
}

}  // namespace millrace
