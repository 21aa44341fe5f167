// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/select_microkernels.h"

#include <limits>
#include <utility>
#include <vector>

#include "hal/host/routines/row_selector.h"
#include "jit/lanes/row_keys.h"
#include "jit/lanes/sort_microkernels.h"

namespace millrace {
namespace {

/// How far ahead the columns of a block are fetched.
constexpr std::int32_t kColumnAheadBytes = 512;

/// Appends numbers from `first` on: those of the elements that pass, given what is loaded of them.
template <class Load, class Passes>
LaneFunction filter(LaneBuilder& b, int numbers, int count, LaneValue first, const Load& load, const Passes& passes) {
  const LaneValue number = b.variable(first);
  b.for_loaded_vectors(count, load, [&](LaneValue x, LaneValue mask) {
    const bool is_rest = mask != kNoLaneValue;
    LaneValue is_taken = passes(x);
    if (is_rest) is_taken = b.binary(LaneOp::kBoth, is_taken, mask);
    b.append(numbers, number, is_taken, is_rest);
    b.assign(number, b.binary(LaneOp::kAdd, number, b.constant(b.num_lanes())));
  });
  return b.finish_with(numbers);
}

LaneFunction filter_elements(IsaLevel isa, const CoarseKeys& keys, bool prefetches) {
  enum { kRow, kNumbers, kCount, kFirst, kLimit };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  const LaneValue limit = b.broadcast(kLimit), first = b.binary(LaneOp::kAdd, b.numbers(), b.broadcast(kFirst));
  const auto load = [&](LaneValue mask) {
    if (mask == kNoLaneValue && prefetches) b.prefetch_ahead(kRow, 0);
    const LaneValue x = load_some(b, kRow, element, mask);
    b.advance(kRow, b.num_lanes() * element.bytes);
    return coarse_key(b, x, keys);
  };
  return filter(b, kNumbers, kCount, first, load, [&](LaneValue key) { return b.binary(LaneOp::kAtMost, key, limit); });
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

/// The lanes in which elements have a key up to a limit.
class LimitTest {
 public:
  /// The limit is an argument.
  LimitTest(LaneBuilder& b, int limit, const CoarseKeys& keys)
      : b_(b), keys_(keys), limit_(b.broadcast(limit)), bound_(kNoLaneValue) {
    // Whatever is above the next lower float, or a NaN, passes. Below the lowest limit there are NaNs, which nothing is
    // at most.
    if (are_greatest_floats_first(keys)) {
      bound_ = element_of_coarse(b, b.binary(LaneOp::kAdd, limit_, b.constant(1)), keys);
    }
  }

  LaneValue passes(LaneValue x) const {
    if (bound_ == kNoLaneValue) return b_.binary(LaneOp::kAtMost, coarse_key(b_, x, keys_), limit_);
    return b_.binary(LaneOp::kNotAtMostFloat, x, bound_);
  }
  /// The same for any of the vectors, whose number is even.
  LaneValue any_passes(std::vector<LaneValue> vectors) const {
    if (bound_ == kNoLaneValue) return b_.binary(LaneOp::kAtMost, least_key(b_, std::move(vectors), keys_), limit_);
    const LaneValue has_nan = lanes_with_nan(b_, vectors);
    return b_.binary(LaneOp::kEither, has_nan, passes(fold(b_, LaneOp::kMaxFloat, std::move(vectors))));
  }

 private:
  LaneBuilder& b_;
  const CoarseKeys& keys_;
  LaneValue limit_, bound_;
};

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

MicrokernelCode<ComputeElements> find_computed_minima_function(IsaLevel isa, const CoarseKeys& keys,
                                                               const ComputedElements& elements) {
  enum { kMinima, kCount, kFirstSource };
  LaneBuilder b(isa, keys.lane_bits());
  ComputedLanes lanes(b, elements, kFirstSource);
  b.for_blocks(kCount, RowSelectorCode::kVectorsPerChunk, [&] {
    std::vector<LaneValue> vectors;
    for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) vectors.push_back(lanes.vector(i));
    b.store(kMinima, 0, b.lane_element(), least_key(b, std::move(vectors), keys));
    lanes.advance(RowSelectorCode::kVectorsPerChunk);
    b.advance(kMinima, b.num_lanes() * b.lane_element().bytes);
  });
  return {b.finish_with(kMinima)};
}

MicrokernelCode<FindMinima> find_minima_function(IsaLevel isa, const CoarseKeys& keys) {
  enum { kRow, kMinima, kCount };
  LaneBuilder b(isa, keys.lane_bits());
  const int vector_bytes = b.num_lanes() * element_of(keys.dtype).bytes;
  b.for_blocks(kCount, RowSelectorCode::kVectorsPerChunk, [&] {
    b.store(kMinima, 0, b.lane_element(),
            least_key(b, load_turned(b, kRow, 0, 1, RowSelectorCode::kVectorsPerChunk, keys), keys));
    b.advance(kRow, RowSelectorCode::kVectorsPerChunk * vector_bytes);
    b.advance(kMinima, b.num_lanes() * b.lane_element().bytes);
  });
  return {b.finish_with(kMinima)};
}

MicrokernelCode<FilterKeys> find_passing_function(IsaLevel isa, const CoarseKeys& keys) {
  enum { kRow, kPassing, kCount, kFirst, kLimit };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  const int vector_bytes = b.num_lanes() * element.bytes;
  const LimitTest limit(b, kLimit, keys);
  const LaneValue number = b.variable(b.binary(LaneOp::kAdd, b.numbers(), b.broadcast(kFirst)));
  b.for_blocks(kCount, RowSelectorCode::kVectorsPerChunk, [&] {
    std::vector<LaneValue> vectors;
    for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) {
      // Rows that are longer than the caches come at the speed of reading alone.
      b.prefetch_ahead(kRow, i * vector_bytes);
      vectors.push_back(b.load(kRow, i * vector_bytes, element));
    }
    b.append(kPassing, number, limit.any_passes(std::move(vectors)), false);
    b.assign(number, b.binary(LaneOp::kAdd, number, b.constant(b.num_lanes())));
    b.advance(kRow, RowSelectorCode::kVectorsPerChunk * vector_bytes);
  });
  return {b.finish_with(kPassing)};
}

MicrokernelCode<MatchMinima> match_minima_function(IsaLevel isa, int lane_bits) {
  enum { kMinima, kMasks, kCount, kLimit };
  LaneBuilder b(isa, lane_bits);
  const LaneValue limit = b.broadcast(kLimit);
  const int vector_bytes = b.num_lanes() * b.lane_element().bytes;
  for (const int num_together : {4, 1}) {
    b.for_blocks(kCount, num_together, [&] {
      for (int i = 0; i < num_together; ++i) {
        const LaneValue minima = b.load(kMinima, i * vector_bytes, b.lane_element());
        b.store_mask(kMasks, i * b.mask_bytes(), b.binary(LaneOp::kAtMost, minima, limit));
      }
      b.advance(kMinima, num_together * vector_bytes);
      b.advance(kMasks, num_together * b.mask_bytes());
    });
  }
  return {b.finish_with(kMasks)};
}

MicrokernelCode<ListChunks> list_chunks_function(IsaLevel isa, int lane_bits) {
  enum { kMasks, kChunks, kCount };
  LaneBuilder b(isa, lane_bits);
  const LaneElement element = {static_cast<std::uint8_t>(b.mask_bytes()), false};
  const LaneValue zero = b.constant(0);
  const auto load = [&](LaneValue mask) {
    const LaneValue x = load_some(b, kMasks, element, mask);
    b.advance(kMasks, b.num_lanes() * element.bytes);
    return x;
  };
  return {filter(b, kChunks, kCount, b.numbers(), load, [&](LaneValue x) { return b.binary(LaneOp::kLess, zero, x); })};
}

MicrokernelCode<MatchElements> match_elements_function(IsaLevel isa, const CoarseKeys& keys) {
  enum { kBlock, kMasks, kCount, kSteps, kLimit, kPitch };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  const int vector_bytes = b.num_lanes() * element.bytes;
  const LimitTest limit(b, kLimit, keys);
  b.for_blocks(kCount, 1, [&] {
    b.advance_by(kBlock, b.load(kSteps, 0, b.lane_element()), vector_bytes);
    b.advance(kSteps, b.lane_element().bytes);
    for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) {
      b.store_mask(kMasks, i * b.mask_bytes(), limit.passes(b.load(kBlock, 0, element)));
      b.advance_by_argument(kBlock, kPitch, 1);
    }
    b.advance(kMasks, RowSelectorCode::kVectorsPerChunk * b.mask_bytes());
  });
  return {b.finish_with(kMasks)};
}

MicrokernelCode<FindColumnMinima> find_column_minima_function(IsaLevel isa, const CoarseKeys& keys) {
  enum { kBlock, kMinima, kCount, kPitch };
  LaneBuilder b(isa, keys.lane_bits());
  b.for_blocks(kCount, 1, [&] {
    b.store(kMinima, 0, b.lane_element(), least_key(b, load_column(b, kBlock, kPitch, keys), keys));
    b.advance(kBlock, b.num_lanes() * element_of(keys.dtype).bytes);
    b.advance(kMinima, b.num_lanes() * b.lane_element().bytes);
  });
  return {b.finish_with(kMinima)};
}

MicrokernelCode<FoldMinima> fold_minima_function(IsaLevel isa, int lane_bits) {
  enum { kFirst, kSecond, kTo, kCount };
  LaneBuilder b(isa, lane_bits);
  b.for_blocks(kCount, 1, [&] {
    const LaneValue first = b.load(kFirst, 0, b.lane_element()), second = b.load(kSecond, 0, b.lane_element());
    b.store(kTo, 0, b.lane_element(), b.binary(LaneOp::kMin, first, second));
    for (const int pointer : {kFirst, kSecond, kTo}) b.advance(pointer, b.num_lanes() * b.lane_element().bytes);
  });
  return {b.finish_with(kTo)};
}

MicrokernelCode<FoldFourMinima> fold_four_minima_function(IsaLevel isa, int lane_bits) {
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
  return {b.finish_with(kTo)};
}

MicrokernelCode<FindGroupMinima> find_group_minima_function(IsaLevel isa, const CoarseKeys& keys, int num_vectors) {
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
  return {b.finish_with(kMinima)};
}

MicrokernelCode<FilterKeys> filter_row_function(IsaLevel isa, const CoarseKeys& keys) {
  return {filter_elements(isa, keys, false)};
}

MicrokernelCode<FilterKeys> filter_whole_row_function(IsaLevel isa, const CoarseKeys& keys) {
  return {filter_elements(isa, keys, true)};
}

}  // namespace millrace
