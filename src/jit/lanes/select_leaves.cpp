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

/// Whether elements have numbers in memory, or those that follow a first one.
enum class Numbers : std::uint8_t { kFollowing, kInMemory };

/// Appends the numbers of the elements whose key is at most the limit.
template <class MakeKey>
LaneFunction filter(LaneBuilder b, LaneElement element, Numbers numbers, bool prefetches, const MakeKey& make_key) {
  enum { kRow, kFound, kCount, kNumbers, kLimit };
  const bool are_following = numbers == Numbers::kFollowing;
  const LaneValue limit = b.broadcast(kLimit);
  const LaneValue following =
      are_following ? b.variable(b.binary(LaneOp::kAdd, b.numbers(), b.broadcast(kNumbers))) : kNoLaneValue;
  b.for_loaded_vectors(
      kCount,
      [&](LaneValue mask) {
        if (mask == kNoLaneValue && prefetches) b.prefetch_ahead(kRow, 0);
        const LaneValue x = load_some(b, kRow, element, mask);
        b.advance(kRow, b.num_lanes() * element.bytes);
        return make_key(b, x);
      },
      [&](LaneValue key, LaneValue mask) {
        const bool is_rest = mask != kNoLaneValue;
        LaneValue passes = at_most(b, key, limit);
        if (is_rest) passes = b.binary(LaneOp::kBoth, passes, mask);
        b.append(kFound, are_following ? following : load_some(b, kNumbers, b.lane_element(), mask), passes, is_rest);
        if (are_following) {
          b.assign(following, b.binary(LaneOp::kAdd, following, b.constant(b.num_lanes())));
        } else {
          b.advance(kNumbers, b.num_lanes() * b.lane_element().bytes);
        }
      });
  return b.finish_with(kFound);
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
  if (vectors.size() == 1 || !keys.largest || !holds_lanes_of_floats(keys)) {
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

/// Vectors from the one with number `first` on that are so many vectors apart, with lanes turned as
/// RowSelectorCode::turn_of() has it.
std::vector<LaneValue> load_turned(LaneBuilder& b, int pointer, int first, int pitch, int count,
                                   const CoarseKeys& keys) {
  const LaneElement element = element_of(keys.dtype);
  std::vector<LaneValue> vectors;
  for (int i = 0; i < count; ++i) {
    const LaneValue x = b.load(pointer, (first + i * pitch) * b.num_lanes() * element.bytes, element);
    const int turn = RowSelectorCode::turn_of(i);
    vectors.push_back(turn == 0 ? x : b.unary(LaneOp::kXorLanes, x, turn));
  }
  return vectors;
}
/// The vectors of a chunk, which are so many vectors apart.
std::vector<LaneValue> load_chunk(LaneBuilder& b, int pointer, int pitch, const CoarseKeys& keys) {
  return load_turned(b, pointer, 0, pitch, RowSelectorCode::kVectorsPerChunk, keys);
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
  const auto take_blocks = [&](int turns) {
    b.for_blocks(kCount, turns * num_vectors, [&] {
      for (int i = 0; i < num_vectors; ++i) {
        take(minima[static_cast<std::size_t>(i)],
             least_key(b, load_turned(b, kRow, i, num_vectors, turns, keys), keys));
      }
      b.advance(kRow, turns * num_vectors * vector_bytes);
    });
  };
  take_blocks(RowSelectorCode::kTurns);
  if (num_vectors > 1) take_blocks(1);
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
  return filter(LaneBuilder(isa, keys.lane_bits()), element_of(keys.dtype), Numbers::kFollowing, false,
                [&](LaneBuilder& b, LaneValue x) { return coarse_key(b, x, keys); });
}

LaneFunction filter_numbered_function(IsaLevel isa, const CoarseKeys& keys) {
  return filter(LaneBuilder(isa, keys.lane_bits()), element_of(keys.dtype), Numbers::kInMemory, false,
                [&](LaneBuilder& b, LaneValue x) { return coarse_key(b, x, keys); });
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
  return filter(LaneBuilder(isa, keys.lane_bits()), element_of(keys.dtype), Numbers::kFollowing, true,
                [&](LaneBuilder& b, LaneValue x) { return coarse_key(b, x, keys); });
}

LaneFunction filter_minima_function(IsaLevel isa, int lane_bits) {
  LaneBuilder b(isa, lane_bits);
  const LaneElement element = b.lane_element();
  return filter(std::move(b), element, Numbers::kFollowing, false, [](LaneBuilder&, LaneValue x) { return x; });
}

}  // namespace millrace
