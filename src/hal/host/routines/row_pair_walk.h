// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hal/host/routines/row_offsets.h"
#include "hal/host/routines/row_parts.h"
#include "millrace/hal/host_kernel.h"

namespace millrace {

/// The size arguments of a routine in which each group reads one contiguous row of the input (buffer 0), or one of the
/// row's RowParts, and writes to a result. They are the row length n, the number of parts, the offset of each tensor,
/// and then per other dim, outermost first, its extent and the stride of each tensor. Offsets and strides are in
/// elements.
struct RowPairSizes {
  static constexpr std::size_t kN = 0, kParts = 1, kOffsets = 2, kDims = 4;
  static constexpr std::size_t kPerDim = 3;
};

/// Finds where rows are in the input and in the result.
class RowPairWalk {
 public:
  RowPairWalk(const KernelArgs& args, std::int64_t num_other_dims) : args_(args), num_other_dims_(num_other_dims) {}

  std::int64_t n() const { return args_.sizes[RowPairSizes::kN]; }
  RowParts parts() const { return {n(), args_.sizes[RowPairSizes::kParts]}; }

  /// The number of elements in all rows.
  std::int64_t num_elements() const {
    std::int64_t count = n();
    for (std::int64_t dim = 0; dim < num_other_dims_; ++dim) {
      count *= args_.sizes[RowPairSizes::kDims + static_cast<std::size_t>(dim) * RowPairSizes::kPerDim];
    }
    return count;
  }

  void find_row(std::int64_t row) {
    millrace::find_row(row, args_.sizes + RowPairSizes::kOffsets, args_.sizes + RowPairSizes::kDims, num_other_dims_,
                       offsets_.size(), offsets_.data());
  }
  /// input() and result(): the row's address in a buffer that is laid out like the input, or like the result.
  std::byte* input(std::int64_t element_bytes, std::size_t buffer = 0) const {
    return static_cast<std::byte*>(args_.buffers[buffer]) + offsets_[0] * element_bytes;
  }
  std::byte* result(std::int64_t element_bytes, std::size_t buffer = 1) const {
    return static_cast<std::byte*>(args_.buffers[buffer]) + offsets_[1] * element_bytes;
  }

 private:
  const KernelArgs& args_;
  std::int64_t num_other_dims_;
  std::array<std::int64_t, 2> offsets_{};
};

}  // namespace millrace
