// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "hal/host/routines/sort_rows.h"

namespace millrace {

/// Finds the rows of a sort in its tensors.
class RowPlaces {
 public:
  /// Where a row is in each tensor, in elements.
  using Place = std::array<std::int64_t, kNumSortTensors>;

  RowPlaces(const std::int64_t* sizes, std::int64_t num_dims) : sizes_(sizes), num_dims_(num_dims) {}

  Place of(std::int64_t row) const {
    Place offsets;
    find(row, offsets);
    return offsets;
  }
  /// The same, into `offsets`: what a vector copies from single stores waits until these are done.
  void find(std::int64_t row, Place& offsets) const {
    std::copy_n(sizes_ + SortRowsSizes::kOffsets, kNumSortTensors, offsets.begin());
    for (std::int64_t dim = num_dims_; dim-- > 0;) {
      const std::int64_t* const sizes = sizes_of(dim);
      // A division takes as long as a short row.
      const std::int64_t position = dim == 0 ? row : row % sizes[0];
      if (dim > 0) row /= sizes[0];
      for (std::size_t tensor = 0; tensor < kNumSortTensors; ++tensor) offsets[tensor] += position * sizes[1 + tensor];
    }
  }
  /// The extent of the innermost other dim, and a tensor's stride there.
  std::int64_t num_columns() const { return num_dims_ == 0 ? 1 : sizes_of(num_dims_ - 1)[0]; }
  std::int64_t column_stride(std::size_t tensor) const {
    return num_dims_ == 0 ? 1 : sizes_of(num_dims_ - 1)[1 + tensor];
  }

 private:
  const std::int64_t* sizes_of(std::int64_t dim) const {
    return sizes_ + SortRowsSizes::kDims + dim * std::int64_t{SortRowsSizes::kPerDim};
  }

  const std::int64_t* sizes_;
  std::int64_t num_dims_;
};

}  // namespace millrace
