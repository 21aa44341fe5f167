// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/transpose_microkernel.h"

namespace millrace {
namespace {

int lane_bits_of(std::uint8_t element_bytes) { return element_bytes == 8 ? 64 : 32; }

/// Interleaving a square's upper half with its lower half moves the highest bit of a row's number to the lowest of its
/// lanes' numbers, and the other way round. Once all bits have moved, rows are columns.
std::vector<LaneValue> transpose_square(LaneBuilder& b, std::vector<LaneValue> rows) {
  const std::size_t half = rows.size() / 2;
  for (std::size_t moved = 1; moved < rows.size(); moved *= 2) {
    std::vector<LaneValue> next;
    for (std::size_t i = 0; i < half; ++i) {
      const auto [low, high] = b.regroup(rows[i], rows[i + half], BitOrder::interleaved(b.num_lanes()));
      next.push_back(low);
      next.push_back(high);
    }
    rows = std::move(next);
  }
  return rows;
}

}  // namespace

int transpose_tile_of(IsaLevel isa, std::uint8_t element_bytes) {
  return num_lanes_of(isa, lane_bits_of(element_bytes));
}

MicrokernelCode<TransposeTiles> transpose_tiles_function(IsaLevel isa, std::uint8_t element_bytes) {
  enum { kFrom, kTo, kCount, kFromPitch, kToPitch };
  LaneBuilder b(isa, lane_bits_of(element_bytes));
  const LaneElement element = {element_bytes, true};
  b.for_blocks(kCount, 1, [&] {
    std::vector<LaneValue> rows;
    for (int i = 0; i < b.num_lanes(); ++i) {
      rows.push_back(b.load(kFrom, 0, element));
      b.advance_by_argument(kFrom, kFromPitch, 1);
    }
    rows = transpose_square(b, std::move(rows));
    for (const LaneValue row : rows) {
      b.store(kTo, 0, element, row);
      b.advance_by_argument(kTo, kToPitch, 1);
    }
    b.advance_by_argument(kTo, kToPitch, -b.num_lanes());
    b.advance(kTo, b.num_lanes() * element.bytes);
  });
  return {b.finish_with(kTo)};
}

}  // namespace millrace
