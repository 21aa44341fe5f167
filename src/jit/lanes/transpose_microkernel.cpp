// SPDX-License-Identifier: Apache-2.0
// Builds the microkernel that transposes square tiles.
#include "jit/lanes/transpose_microkernel.h"

namespace millrace {
namespace {

/// Interleaving the upper half of a square with its lower half moves the highest bit of the row index to the lowest bit
/// of the lane index, and shifts the others up. Once each row bit is a lane bit, rows are columns.
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

MicrokernelCode<TransposeTiles> transpose_tiles(IsaLevel isa, DType dtype) {
  enum { kFrom, kTo, kCount, kFromPitch, kToPitch };
  LaneBuilder b(isa, lane_bits_of(dtype));
  const LaneElement element = {static_cast<std::uint8_t>(size_bytes(dtype)), true};
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
    b.advance(kTo, b.vector_bytes(element));
  });
  return {b.finish_with(kTo)};
}

}  // namespace

TileCode append_tiles(const MicrokernelSink& sink, DType dtype) {
  return {sink.append(transpose_tiles(sink.isa, dtype)), num_lanes_of(sink.isa, lane_bits_of(dtype))};
}

}  // namespace millrace
