// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hal/host/routines/microkernel.h"

namespace millrace {

/// The transposing microkernel for one element size, and the number of elements on each side of its tiles.
struct TileCode {
  Microkernel<TransposeTiles> transpose;
  std::int64_t side;
};

/// Rows of one tensor.
struct RowsTensor {
  std::int64_t element_bytes = 0;
  std::int64_t length = 0;         // of a row
  std::int64_t axis_stride = 1;    // in elements, from one element of a row to the next
  std::int64_t column_stride = 1;  // from one row to the next
  TransposeTiles transpose = {};
  std::int64_t tile = 1;

  std::int64_t bytes_between(std::int64_t stride) const { return stride * element_bytes; }
};

/// Holds neighbouring rows, which interleave in their tensors, as contiguous rows. A cache line of such a tensor has
/// elements of many rows; copying through the block reads and writes each line once for all of them.
class ColumnBlock {
 public:
  static constexpr std::size_t kMaxTensors = 3;
  using Tensors = std::array<RowsTensor, kMaxTensors>;

  /// The bytes from row to row. A power of two would map all rows to the same sets of the L1 cache.
  static constexpr std::int64_t pitch_bytes(std::int64_t length, std::int64_t element_bytes) {
    return (length * element_bytes / kLineBytes + 2) * kLineBytes;
  }
  /// The longest row whose pitch is at most `bytes`.
  static constexpr std::int64_t longest_row(std::int64_t bytes, std::int64_t element_bytes) {
    return ((bytes / kLineBytes - 1) * kLineBytes - 1) / element_bytes;
  }
  /// The maximum number of rows: one per element of a cache line.
  static constexpr std::int64_t max_columns(std::int64_t element_bytes) { return kLineBytes / element_bytes; }

  /// Contiguous rows stay where they are. So do the rows of results (all tensors except the first) that do not
  /// interleave. The element size of the first tensor limits the number of rows.
  ColumnBlock(std::byte* memory, std::int64_t memory_bytes, const Tensors& tensors);

  /// The number of rows that are held at a time; 0 if all tensors stay where they are or the memory is too small.
  std::int64_t num_columns() const { return num_columns_; }
  bool moves(std::size_t tensor) const { return rows_[tensor] != nullptr; }

  /// Rows of a tensor that is moved.
  std::byte* rows_of(std::size_t tensor) const { return rows_[tensor]; }
  std::int64_t pitch_of(std::size_t tensor) const {
    return pitch_bytes(tensors_[tensor].length, tensors_[tensor].element_bytes);
  }
  /// Copies `count` rows to the block.
  void read(std::size_t tensor, const std::byte* from, std::int64_t count) const;
  /// Copies `count` rows from the block.
  void write(std::size_t tensor, std::byte* to, std::int64_t count) const;

 private:
  static constexpr std::int64_t kLineBytes = 64;

  bool is_strided(std::size_t tensor) const {
    const RowsTensor& t = tensors_[tensor];
    return t.element_bytes > 0 && t.axis_stride != 1 && (tensor == 0 || t.column_stride == 1);
  }

  Tensors tensors_;
  std::array<std::byte*, kMaxTensors> rows_{};  // null where the rows stay in their tensor
  std::int64_t num_columns_ = 0;
};

}  // namespace millrace
