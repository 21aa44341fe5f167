// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "millrace/hal/host_kernel.h"

namespace millrace {

/// The size arguments of a routine that takes one contiguous row of an input, buffer 0, per group, and writes to a
/// result, the buffer behind the inputs. In elements: n, the offset of each tensor, and then per other dim, outermost
/// first, its extent and the stride of each tensor.
struct RowPairSizes {
  static constexpr std::size_t kN = 0, kOffsets = 1, kDims = 3;
  static constexpr std::size_t kPerDim = 3;
};

/// Finds where rows are in the input and in the result.
class RowPairWalk {
 public:
  RowPairWalk(const KernelArgs& args, std::int64_t num_other_dims, std::size_t num_inputs = 1)
      : args_(args), num_other_dims_(num_other_dims), num_inputs_(num_inputs) {}

  std::int64_t n() const { return args_.sizes[RowPairSizes::kN]; }

  /// The elements of all rows.
  std::int64_t num_elements() const {
    std::int64_t count = n();
    for (std::int64_t dim = 0; dim < num_other_dims_; ++dim) {
      count *= args_.sizes[RowPairSizes::kDims + static_cast<std::size_t>(dim) * RowPairSizes::kPerDim];
    }
    return count;
  }

  void find_row(std::int64_t row) {
    offsets_ = {args_.sizes[RowPairSizes::kOffsets], args_.sizes[RowPairSizes::kOffsets + 1]};
    for (std::int64_t dim = num_other_dims_; dim-- > 0;) {
      const std::int64_t* sizes = args_.sizes + RowPairSizes::kDims + dim * std::int64_t{RowPairSizes::kPerDim};
      // Most rows are those of a matrix, which need no division.
      const std::int64_t position = dim > 0 ? row % sizes[0] : row;
      if (dim > 0) row /= sizes[0];
      offsets_[0] += position * sizes[1];
      offsets_[1] += position * sizes[2];
    }
  }
  std::byte* input(std::int64_t element_bytes) const { return place(0, 0, element_bytes); }
  std::byte* result(std::int64_t element_bytes) const { return place(num_inputs_, 1, element_bytes); }

 private:
  std::byte* place(std::size_t buffer, std::size_t tensor, std::int64_t element_bytes) const {
    return static_cast<std::byte*>(args_.buffers[buffer]) + offsets_[tensor] * element_bytes;
  }

  const KernelArgs& args_;
  std::int64_t num_other_dims_;
  std::size_t num_inputs_;
  std::array<std::int64_t, 2> offsets_{};
};

}  // namespace millrace
