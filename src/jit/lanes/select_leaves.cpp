// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/select_leaves.h"

#include <limits>
#include <utility>
#include <vector>

#include "hal/host/routines/row_selector.h"
#include "jit/lanes/row_keys.h"
#include "jit/lanes/sort_leaves.h"

namespace millrace {
namespace {

LaneValue at_most(LaneBuilder& b, LaneValue key, LaneValue limit) {
  return b.invert(b.binary(LaneOp::kLess, limit, key));
}

/// Appends the numbers of the elements whose key is at most the limit.
template <class MakeKey>
LaneFunction filter(LaneBuilder b, LaneElement element, bool prefetches, const MakeKey& make_key) {
  enum { kRow, kNumbers, kCount, kFirst, kLimit };
  const LaneValue limit = b.broadcast(kLimit);
  const LaneValue number = b.variable(b.binary(LaneOp::kAdd, b.numbers(), b.broadcast(kFirst)));
  b.for_loaded_vectors(
      kCount,
      [&](LaneValue mask) {
        const bool is_rest = mask != kNoLaneValue;
        if (!is_rest && prefetches) b.prefetch_ahead(kRow, 0);
        const LaneValue x = is_rest ? b.load_masked(kRow, 0, element, mask, b.constant(0)) : b.load(kRow, 0, element);
        b.advance(kRow, b.num_lanes() * element.bytes);
        return make_key(b, x);
      },
      [&](LaneValue key, LaneValue mask) {
        const bool is_rest = mask != kNoLaneValue;
        LaneValue passes = at_most(b, key, limit);
        if (is_rest) passes = b.binary(LaneOp::kBoth, passes, mask);
        b.append(kNumbers, number, passes, is_rest);
        b.assign(number, b.binary(LaneOp::kAdd, number, b.constant(b.num_lanes())));
      });
  return b.finish_with(kNumbers);
}

/// Whether a loaded element is a float as wide as a lane.
bool holds_lanes_of_floats(const CoarseKeys& keys) { return keys.dtype == DType::kF32 || keys.dtype == DType::kF64; }

/// The least key of each lane over vectors of elements.
LaneValue least_key(LaneBuilder& b, std::vector<LaneValue> vectors, const CoarseKeys& keys) {
  const auto fold = [&](LaneOp op) {
    for (std::size_t half = vectors.size() / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) vectors[i] = b.binary(op, vectors[i], vectors[i + half]);
    }
    return vectors[0];
  };
  if (!keys.largest || !holds_lanes_of_floats(keys)) {
    for (LaneValue& x : vectors) x = coarse_key(b, x, keys);
    return fold(LaneOp::kMin);
  }
  // The greatest float has the least key, unless there is a NaN. Which NaN, or which zero, makes no difference: equal
  // elements are one run to the selection. That is one key in place of as many as there are vectors.
  LaneValue has_nan = kNoLaneValue;
  for (std::size_t i = 0; i + 1 < vectors.size(); i += 2) {
    const LaneValue is_nan = b.binary(LaneOp::kUnordered, vectors[i], vectors[i + 1]);
    has_nan = i == 0 ? is_nan : b.binary(LaneOp::kEither, has_nan, is_nan);
  }
  const LaneValue key = coarse_key(b, fold(LaneOp::kMaxFloat), keys);
  return b.select(has_nan, b.constant(std::numeric_limits<std::int64_t>::min() >> (64 - b.lane_bits())), key);
}

/// A chunk's vectors, which are so many vectors apart, with lanes turned: where the first elements of a row are in one
/// lane, they are in a few groups.
std::vector<LaneValue> load_chunk(LaneBuilder& b, int pointer, int pitch, const CoarseKeys& keys) {
  const LaneElement element = element_of(keys.dtype);
  std::vector<LaneValue> vectors;
  for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) {
    const LaneValue x = b.load(pointer, i * pitch * b.num_lanes() * element.bytes, element);
    const int turn = RowSelectorCode::turn_of(i);
    vectors.push_back(turn == 0 ? x : b.unary(LaneOp::kXorLanes, x, turn));
  }
  return vectors;
}

}  // namespace

LaneFunction find_computed_minima_function(IsaLevel isa, const CoarseKeys& keys, const ComputedElements& elements) {
  enum { kMinima, kCount, kFirstSource };
  LaneBuilder b(isa, keys.lane_bits());
  ComputedLanes lanes(b, elements, kFirstSource);
  b.for_blocks(kCount, RowSelectorCode::kVectorsPerChunk, [&] {
    LaneValue minimum = kNoLaneValue;
    for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) {
      const LaneValue key = coarse_key(b, lanes.vector(i), keys);
      minimum = i == 0 ? key : b.binary(LaneOp::kMin, minimum, key);
    }
    b.store(kMinima, 0, b.lane_element(), minimum);
    lanes.advance(RowSelectorCode::kVectorsPerChunk);
    b.advance(kMinima, b.num_lanes() * b.lane_element().bytes);
  });
  return b.finish_with(kMinima);
}

LaneFunction find_minima_function(IsaLevel isa, const CoarseKeys& keys) {
  enum { kRow, kMinima, kCount };
  LaneBuilder b(isa, keys.lane_bits());
  const int vector_bytes = b.num_lanes() * element_of(keys.dtype).bytes;
  b.for_blocks(kCount, RowSelectorCode::kVectorsPerChunk, [&] {
    b.store(kMinima, 0, b.lane_element(), least_key(b, load_chunk(b, kRow, 1, keys), keys));
    b.advance(kRow, RowSelectorCode::kVectorsPerChunk * vector_bytes);
    b.advance(kMinima, b.num_lanes() * b.lane_element().bytes);
  });
  return b.finish_with(kMinima);
}

LaneFunction find_passing_function(IsaLevel isa, const CoarseKeys& keys) {
  enum { kRow, kPassing, kCount, kFirst, kLimit };
  LaneBuilder b(isa, keys.lane_bits());
  const int vector_bytes = b.num_lanes() * element_of(keys.dtype).bytes;
  const LaneValue limit = b.broadcast(kLimit);
  const LaneValue number = b.variable(b.binary(LaneOp::kAdd, b.numbers(), b.broadcast(kFirst)));
  b.for_blocks(kCount, RowSelectorCode::kVectorsPerChunk, [&] {
    // Rows that are longer than the caches come at the speed of reading alone.
    for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) b.prefetch_ahead(kRow, i * vector_bytes);
    b.append(kPassing, number, at_most(b, least_key(b, load_chunk(b, kRow, 1, keys), keys), limit), false);
    b.assign(number, b.binary(LaneOp::kAdd, number, b.constant(b.num_lanes())));
    b.advance(kRow, RowSelectorCode::kVectorsPerChunk * vector_bytes);
  });
  return b.finish_with(kPassing);
}

LaneFunction find_tile_minima_function(IsaLevel isa, const CoarseKeys& keys) {
  enum { kTile, kMinima, kCount, kNext };
  LaneBuilder b(isa, keys.lane_bits());
  const int vector_bytes = b.num_lanes() * element_of(keys.dtype).bytes;
  b.for_blocks(kCount, 1, [&] {
    // The hardware does not see that eight short streams go on in the next tile.
    for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) b.prefetch(kNext, i * vector_bytes);
    b.store(kMinima, 0, b.lane_element(),
            least_key(b, load_chunk(b, kTile, RowSelectorCode::kColumnsPerTile, keys), keys));
    b.advance(kNext, RowSelectorCode::kVectorsPerChunk * vector_bytes);
    b.advance(kTile, vector_bytes);
    b.advance(kMinima, b.num_lanes() * b.lane_element().bytes);
  });
  return b.finish_with(kMinima);
}

LaneFunction fold_minima_function(IsaLevel isa, int lane_bits) {
  enum { kFirst, kSecond, kTo, kCount };
  LaneBuilder b(isa, lane_bits);
  b.for_blocks(kCount, 1, [&] {
    const LaneValue first = b.load(kFirst, 0, b.lane_element()), second = b.load(kSecond, 0, b.lane_element());
    b.store(kTo, 0, b.lane_element(), b.binary(LaneOp::kMin, first, second));
    for (const int pointer : {kFirst, kSecond, kTo}) b.advance(pointer, b.num_lanes() * b.lane_element().bytes);
  });
  return b.finish_with(kTo);
}

LaneFunction find_group_minima_function(IsaLevel isa, const CoarseKeys& keys, int num_vectors) {
  enum { kRow, kMinima, kCount };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  const std::int32_t vector_bytes = b.num_lanes() * element.bytes;
  std::vector<LaneValue> minima;
  for (int i = 0; i < num_vectors; ++i) minima.push_back(b.variable(b.greatest()));
  const auto take = [&](LaneValue minimum, LaneValue key) { b.assign(minimum, b.binary(LaneOp::kMin, minimum, key)); };
  for (const int turns : {RowSelectorCode::kTurns, 1}) {
    if (turns * num_vectors == 1) continue;
    b.for_blocks(kCount, turns * num_vectors, [&] {
      for (int i = 0; i < num_vectors; ++i) {
        LaneValue least = kNoLaneValue;
        for (int turn = 0; turn < turns; ++turn) {
          LaneValue key = coarse_key(b, b.load(kRow, (turn * num_vectors + i) * vector_bytes, element), keys);
          if (turn > 0) key = b.unary(LaneOp::kXorLanes, key, RowSelectorCode::turn_of(turn));
          least = turn == 0 ? key : b.binary(LaneOp::kMin, least, key);
        }
        take(minima[static_cast<std::size_t>(i)], least);
      }
      b.advance(kRow, turns * num_vectors * vector_bytes);
    });
  }
  b.for_vectors(kCount, [&](LaneValue mask) {
    if (mask == kNoLaneValue) {
      take(minima[0], coarse_key(b, b.load(kRow, 0, element), keys));
      b.advance(kRow, vector_bytes);
    } else {
      const LaneValue x = b.load_masked(kRow, 0, element, mask, b.constant(0));
      take(minima[0], b.select(mask, coarse_key(b, x, keys), b.greatest()));
    }
  });
  for (int i = 0; i < num_vectors; ++i) {
    b.store(kMinima, i * b.num_lanes() * b.lane_element().bytes, b.lane_element(), minima[static_cast<std::size_t>(i)]);
  }
  return b.finish_with(kMinima);
}

LaneFunction filter_row_function(IsaLevel isa, const CoarseKeys& keys) {
  return filter(LaneBuilder(isa, keys.lane_bits()), element_of(keys.dtype), false,
                [&](LaneBuilder& b, LaneValue x) { return coarse_key(b, x, keys); });
}

LaneFunction filter_numbered_function(IsaLevel isa, const CoarseKeys& keys) {
  enum { kElements, kNumbers, kFound, kCount, kLimit };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  const LaneValue limit = b.broadcast(kLimit);
  b.for_loaded_vectors(
      kCount,
      [&](LaneValue mask) {
        const LaneValue x = load_some(b, kElements, element, mask);
        b.advance(kElements, b.num_lanes() * element.bytes);
        return coarse_key(b, x, keys);
      },
      [&](LaneValue key, LaneValue mask) {
        const bool is_rest = mask != kNoLaneValue;
        LaneValue passes = at_most(b, key, limit);
        if (is_rest) passes = b.binary(LaneOp::kBoth, passes, mask);
        b.append(kFound, load_some(b, kNumbers, b.lane_element(), mask), passes, is_rest);
        b.advance(kNumbers, b.num_lanes() * b.lane_element().bytes);
      });
  return b.finish_with(kFound);
}

LaneFunction filter_column_function(IsaLevel isa, const CoarseKeys& keys) {
  enum { kRow, kNumbers, kCount, kFirst, kLimit };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  const int pitch = RowSelectorCode::kColumnsPerTile * b.num_lanes();  // elements
  const LaneValue limit = b.broadcast(kLimit), first = b.binary(LaneOp::kAdd, b.numbers(), b.broadcast(kFirst));
  b.for_blocks(kCount, RowSelectorCode::kVectorsPerChunk, [&] {
    for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) {
      const LaneValue x = b.load(kRow, i * pitch * element.bytes, element);
      const LaneValue number = i == 0 ? first : b.binary(LaneOp::kAdd, first, b.constant(i * pitch));
      b.append(kNumbers, number, at_most(b, coarse_key(b, x, keys), limit), false);
    }
  });
  return b.finish_with(kNumbers);
}

LaneFunction filter_whole_row_function(IsaLevel isa, const CoarseKeys& keys) {
  return filter(LaneBuilder(isa, keys.lane_bits()), element_of(keys.dtype), true,
                [&](LaneBuilder& b, LaneValue x) { return coarse_key(b, x, keys); });
}

LaneFunction filter_minima_function(IsaLevel isa, int lane_bits) {
  LaneBuilder b(isa, lane_bits);
  const LaneElement element = b.lane_element();
  return filter(std::move(b), element, false, [](LaneBuilder&, LaneValue x) { return x; });
}

}  // namespace millrace
