// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/select_leaves.h"

#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "hal/host/routines/row_selector.h"
#include "jit/lanes/row_keys.h"
#include "jit/lanes/sort_leaves.h"

namespace millrace {
namespace {

/// How far ahead the columns of a block are fetched.
constexpr std::int32_t kColumnAheadBytes = 512;

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
        LaneValue passes = b.binary(LaneOp::kAtMost, key, limit);
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

/// Whether elements are floats as wide as a lane, and the greatest comes first.
bool are_greatest_floats_first(const CoarseKeys& keys) {
  return keys.largest && (keys.dtype == DType::kF32 || keys.dtype == DType::kF64);
}

LaneValue fold(LaneBuilder& b, LaneOp op, std::vector<LaneValue> vectors) {
  for (std::size_t half = vectors.size() / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) vectors[i] = b.binary(op, vectors[i], vectors[i + half]);
  }
  return vectors[0];
}

/// The lanes in which any of the vectors has a NaN. Their number is even.
LaneValue lanes_with_nan(LaneBuilder& b, const std::vector<LaneValue>& vectors) {
  std::vector<LaneValue> masks;
  for (std::size_t i = 0; i < vectors.size(); i += 2) {
    masks.push_back(b.binary(LaneOp::kUnordered, vectors[i], vectors[i + 1]));
  }
  return fold(b, LaneOp::kEither, std::move(masks));
}

/// The least key of each lane over vectors of elements.
LaneValue least_key(LaneBuilder& b, std::vector<LaneValue> vectors, const CoarseKeys& keys) {
  if (vectors.size() == 1 || !are_greatest_floats_first(keys)) {
    for (LaneValue& x : vectors) x = coarse_key(b, x, keys);
    return fold(b, LaneOp::kMin, std::move(vectors));
  }
  // The greatest float has the least key, unless there is a NaN. Which NaN, or which zero, makes no difference: equal
  // elements are one run to the selection. That is one key in place of as many as there are vectors.
  const LaneValue has_nan = lanes_with_nan(b, vectors);
  const LaneValue key = coarse_key(b, fold(b, LaneOp::kMaxFloat, std::move(vectors)), keys);
  return b.select(has_nan, b.constant(std::numeric_limits<std::int64_t>::min() >> (64 - b.lane_bits())), key);
}

/// The lanes in which vectors of elements have a key up to the limit. `limit_element` has that key: floats need none of
/// their own then.
LaneValue lanes_up_to(LaneBuilder& b, std::vector<LaneValue> vectors, LaneValue limit, LaneValue limit_element,
                      const CoarseKeys& keys) {
  if (!are_greatest_floats_first(keys)) {
    return b.binary(LaneOp::kAtMost, least_key(b, std::move(vectors), keys), limit);
  }
  const LaneValue has_nan = lanes_with_nan(b, vectors);
  const LaneValue greatest = fold(b, LaneOp::kMaxFloat, std::move(vectors));
  return b.binary(LaneOp::kEither, has_nan, b.binary(LaneOp::kAtMostFloat, limit_element, greatest));
}

/// The loaded vector i of a group, with lanes turned as RowSelectorCode::turn_of() has it.
LaneValue turned(LaneBuilder& b, LaneValue x, int i) {
  const int turn = RowSelectorCode::turn_of(i);
  return turn == 0 ? x : b.unary(LaneOp::kXorLanes, x, turn);
}
/// Vectors from the one with number `first` on that are so many vectors apart, turned.
std::vector<LaneValue> load_turned(LaneBuilder& b, int pointer, int first, int pitch, int count,
                                   const CoarseKeys& keys) {
  const LaneElement element = element_of(keys.dtype);
  std::vector<LaneValue> vectors;
  for (int i = 0; i < count; ++i) {
    vectors.push_back(turned(b, b.load(pointer, (first + i * pitch) * b.num_lanes() * element.bytes, element), i));
  }
  return vectors;
}
/// The vectors of a chunk that follow each other.
std::vector<LaneValue> load_chunk(LaneBuilder& b, int pointer, const CoarseKeys& keys) {
  return load_turned(b, pointer, 0, 1, RowSelectorCode::kVectorsPerChunk, keys);
}
/// The vectors of a chunk that is a column.
std::vector<LaneValue> load_column(LaneBuilder& b, int pointer, int pitch_argument, const CoarseKeys& keys) {
  std::vector<LaneValue> vectors;
  for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) {
    // Hardware alone follows so many streams late.
    b.prefetch(pointer, kColumnAheadBytes);
    vectors.push_back(turned(b, b.load(pointer, 0, element_of(keys.dtype)), i));
    b.advance_by_argument(pointer, pitch_argument, 1);
  }
  b.advance_by_argument(pointer, pitch_argument, -RowSelectorCode::kVectorsPerChunk);
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
    b.store(kMinima, 0, b.lane_element(), least_key(b, load_chunk(b, kRow, keys), keys));
    b.advance(kRow, RowSelectorCode::kVectorsPerChunk * vector_bytes);
    b.advance(kMinima, b.num_lanes() * b.lane_element().bytes);
  });
  return b.finish_with(kMinima);
}

LaneFunction find_passing_function(IsaLevel isa, const CoarseKeys& keys) {
  enum { kRow, kPassing, kCount, kFirst, kLimit };
  LaneBuilder b(isa, keys.lane_bits());
  const int vector_bytes = b.num_lanes() * element_of(keys.dtype).bytes;
  const LaneValue limit = b.broadcast(kLimit), limit_element = element_of_coarse(b, limit, keys);
  const LaneValue number = b.variable(b.binary(LaneOp::kAdd, b.numbers(), b.broadcast(kFirst)));
  b.for_blocks(kCount, RowSelectorCode::kVectorsPerChunk, [&] {
    // Rows that are longer than the caches come at the speed of reading alone.
    for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) b.prefetch_ahead(kRow, i * vector_bytes);
    b.append(kPassing, number, lanes_up_to(b, load_chunk(b, kRow, keys), limit, limit_element, keys), false);
    b.assign(number, b.binary(LaneOp::kAdd, number, b.constant(b.num_lanes())));
    b.advance(kRow, RowSelectorCode::kVectorsPerChunk * vector_bytes);
  });
  return b.finish_with(kPassing);
}

LaneFunction find_column_minima_function(IsaLevel isa, const CoarseKeys& keys) {
  enum { kBlock, kMinima, kCount, kPitch };
  LaneBuilder b(isa, keys.lane_bits());
  b.for_blocks(kCount, 1, [&] {
    b.store(kMinima, 0, b.lane_element(), least_key(b, load_column(b, kBlock, kPitch, keys), keys));
    b.advance(kBlock, b.num_lanes() * element_of(keys.dtype).bytes);
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

LaneFunction fold_four_minima_function(IsaLevel isa, int lane_bits) {
  enum { kFirst, kSecond, kThird, kFourth, kTo, kCount };
  LaneBuilder b(isa, lane_bits);
  b.for_blocks(kCount, 1, [&] {
    std::vector<LaneValue> minima;
    for (const int pointer : {kFirst, kSecond, kThird, kFourth}) {
      const LaneValue x = b.load(pointer, 0, b.lane_element());
      const int turn = pointer * RowSelectorCode::kTurns % b.num_lanes();
      minima.push_back(turn == 0 ? x : b.unary(LaneOp::kXorLanes, x, turn));
      b.advance(pointer, b.num_lanes() * b.lane_element().bytes);
    }
    const LaneValue low = b.binary(LaneOp::kMin, minima[0], minima[1]);
    const LaneValue high = b.binary(LaneOp::kMin, minima[2], minima[3]);
    b.store(kTo, 0, b.lane_element(), b.binary(LaneOp::kMin, low, high));
    b.advance(kTo, b.num_lanes() * b.lane_element().bytes);
  });
  return b.finish_with(kTo);
}

LaneFunction number_elements_function(IsaLevel isa, int lane_bits) {
  enum { kGroups, kNumbers, kCount, kStart, kStep, kPitch };
  LaneBuilder b(isa, lane_bits);
  const auto sum = [&](LaneValue x, LaneValue y) { return b.binary(LaneOp::kAdd, x, y); };
  const int lanes = b.num_lanes(), log2_lanes = std::countr_zero(static_cast<unsigned>(lanes));
  const std::int32_t vector_bytes = lanes * b.lane_element().bytes;
  const LaneValue start = b.broadcast(kStart), step = b.broadcast(kStep), pitch = b.broadcast(kPitch);
  b.for_vectors(kCount, [&](LaneValue mask) {
    const LaneValue group = load_some(b, kGroups, b.lane_element(), mask);
    b.advance(kGroups, vector_bytes);
    const LaneValue chunk = b.unary(LaneOp::kShiftRight, group, log2_lanes);
    const LaneValue lane = b.binary(LaneOp::kAnd, group, b.constant(lanes - 1));
    LaneValue vector = sum(start, b.binary(LaneOp::kMul, chunk, step));
    for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) {
      if (i > 0) vector = sum(vector, pitch);
      const LaneValue number = sum(vector, b.binary(LaneOp::kXor, lane, b.constant(RowSelectorCode::turn_of(i))));
      if (mask == kNoLaneValue) {
        b.store(kNumbers, i * vector_bytes, b.lane_element(), number);
      } else {
        b.append(kNumbers, number, mask, false);
      }
    }
    if (mask == kNoLaneValue) b.advance(kNumbers, RowSelectorCode::kVectorsPerChunk * vector_bytes);
  });
  return b.finish_with(kNumbers);
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
  enum { kColumn, kNumbers, kCount, kFirst, kLimit, kPitch };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  const int log2_bytes = std::countr_zero(static_cast<unsigned>(element.bytes));
  const LaneValue limit = b.broadcast(kLimit), pitch = b.unary(LaneOp::kShiftRight, b.broadcast(kPitch), log2_bytes);
  b.for_blocks(kCount, RowSelectorCode::kVectorsPerChunk, [&] {
    LaneValue number = b.binary(LaneOp::kAdd, b.numbers(), b.broadcast(kFirst));
    for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) {
      if (i > 0) number = b.binary(LaneOp::kAdd, number, pitch);
      const LaneValue x = b.load(kColumn, 0, element);
      b.append(kNumbers, number, b.binary(LaneOp::kAtMost, coarse_key(b, x, keys), limit), false);
      b.advance_by_argument(kColumn, kPitch, 1);
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
