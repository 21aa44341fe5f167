// SPDX-License-Identifier: Apache-2.0
// Copies rows that interleave in memory into contiguous rows, and results back, by transposing tiles.
#include "hal/host/routines/sort/column_block.h"

#include <algorithm>
#include <bit>

#include "hal/host/routines/element_copies.h"

namespace millrace {
namespace {

/// The number of rows that are transposed before moving on to the next tile column, so that their lines stay in the L1
/// cache.
constexpr std::int64_t kRowsAtOnce = 64;

struct Matrix {
  std::int64_t rows, columns, from_pitch, to_pitch;
};

/// Transposes element by element.
void transpose_plainly(const std::byte* from, std::byte* to, const Matrix& m, std::int64_t element_bytes) {
  with_element_size(element_bytes, [&](auto bytes) {
    for (std::int64_t i = 0; i < m.rows; ++i) {
      for (std::int64_t j = 0; j < m.columns; ++j) {
        std::memcpy(to + j * m.to_pitch + i * bytes, from + i * m.from_pitch + j * bytes, bytes);
      }
    }
  });
}

/// Transposes whole tiles by vectors, and the rest element by element.
void transpose(const std::byte* from, std::byte* to, const Matrix& m, const RowsTensor& tensor) {
  const std::int64_t bytes = tensor.element_bytes;
  const std::int64_t rows = m.rows / tensor.tile * tensor.tile, columns = m.columns / tensor.tile * tensor.tile;
  for (std::int64_t i = 0; i < rows; i += kRowsAtOnce) {
    for (std::int64_t j = 0; j < columns; j += tensor.tile) {
      tensor.transpose(from + i * m.from_pitch + j * bytes, to + j * m.to_pitch + i * bytes,
                       std::min(rows - i, kRowsAtOnce), m.from_pitch, m.to_pitch);
    }
  }
  if (rows > 0 && columns < m.columns) {
    transpose_plainly(from + columns * bytes, to + columns * m.to_pitch,
                      {rows, m.columns - columns, m.from_pitch, m.to_pitch}, bytes);
  }
  if (rows < m.rows) {
    transpose_plainly(from + rows * m.from_pitch, to + rows * bytes,
                      {m.rows - rows, m.columns, m.from_pitch, m.to_pitch}, bytes);
  }
}

}  // namespace

ColumnBlock::ColumnBlock(std::byte* memory, std::int64_t memory_bytes, const Tensors& tensors) : tensors_(tensors) {
  std::int64_t column_bytes = 0, max_now = max_columns(tensors[0].element_bytes);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!is_strided(i)) continue;
    column_bytes += pitch_of(i);
    if (tensors[i].column_stride != 1) max_now = 1;
  }
  if (column_bytes == 0 || column_bytes > memory_bytes) return;
  num_columns_ = std::min(
      max_now, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(memory_bytes / column_bytes))));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!is_strided(i)) continue;
    rows_[i] = memory;
    memory += num_columns_ * pitch_of(i);
  }
}

void ColumnBlock::read(std::size_t tensor, const std::byte* from, std::int64_t count) const {
  const RowsTensor& t = tensors_[tensor];
  transpose(from, rows_of(tensor), {t.length, count, t.bytes_between(t.axis_stride), pitch_of(tensor)}, t);
}

void ColumnBlock::write(std::size_t tensor, std::byte* to, std::int64_t count) const {
  const RowsTensor& t = tensors_[tensor];
  transpose(rows_of(tensor), to, {count, t.length, pitch_of(tensor), t.bytes_between(t.axis_stride)}, t);
}

}  // namespace millrace
