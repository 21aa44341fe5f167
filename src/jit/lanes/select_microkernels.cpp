// SPDX-License-Identifier: Apache-2.0
// Builds the microkernels of TopK: minima of groups, matches and filters.
#include "jit/lanes/select_microkernels.h"

#include <utility>
#include <vector>

namespace millrace {
namespace {

/// The distance by which the columns of a block are prefetched.
constexpr std::int32_t kColumnAheadBytes = 512;

/// Appends the indices of the elements whose loaded value passes. `first` has the indices of the first vector's
/// elements.
template <class Load, class Passes>
LaneFunction filter(LaneBuilder& b, int numbers, int count, LaneValue first, const Load& load, const Passes& passes) {
  const LaneValue number = b.variable(first);
  b.for_loaded_vectors(count, load, [&](LaneValue x, LaneValue mask) {
    b.append(numbers, number, b.within(passes(x), mask), mask != kNoLaneValue);
    b.assign(number, b.binary(LaneOp::kAdd, number, b.constant(b.num_lanes())));
  });
  return b.finish_with(numbers);
}

/// Appends the indices of the elements whose key is at most a limit. If `prefetches`, also prefetches later lines.
MicrokernelCode<FilterKeys> filter_row(IsaLevel isa, const CoarseKeys& keys, bool prefetches) {
  enum { kRow, kNumbers, kCount, kFirst, kLimit };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  const LaneValue limit = b.broadcast(kLimit), first = b.binary(LaneOp::kAdd, b.numbers(), b.broadcast(kFirst));
  const auto load = [&](LaneValue mask) {
    if (mask == kNoLaneValue && prefetches) b.prefetch_ahead(kRow, 0);
    return coarse_key(b, b.load_next(kRow, element, mask), keys);
  };
  const auto passes = [&](LaneValue key) { return b.binary(LaneOp::kAtMost, key, limit); };
  return {filter(b, kNumbers, kCount, first, load, passes)};
}

/// Whether elements are floats as wide as a lane, in descending order.
bool are_largest_floats_first(const CoarseKeys& keys) {
  return keys.largest && (keys.dtype == DType::kF32 || keys.dtype == DType::kF64);
}

LaneValue fold(LaneBuilder& b, LaneOp op, std::vector<LaneValue> vectors) {
  for (std::size_t half = vectors.size() / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) vectors[i] = b.binary(op, vectors[i], vectors[i + half]);
  }
  return vectors[0];
}

/// The lanes in which any of the vectors has a NaN. Precondition: the number of vectors is even.
LaneValue lanes_with_nan(LaneBuilder& b, const std::vector<LaneValue>& vectors) {
  std::vector<LaneValue> masks;
  for (std::size_t i = 0; i < vectors.size(); i += 2) {
    masks.push_back(b.binary(LaneOp::kUnordered, vectors[i], vectors[i + 1]));
  }
  return fold(b, LaneOp::kEither, std::move(masks));
}

/// The minimum key of each lane over vectors of elements.
LaneValue min_key(LaneBuilder& b, std::vector<LaneValue> vectors, const CoarseKeys& keys) {
  if (vectors.size() == 1 || !are_largest_floats_first(keys)) {
    for (LaneValue& x : vectors) x = coarse_key(b, x, keys);
    return fold(b, LaneOp::kMin, std::move(vectors));
  }
  // The maximum float has the minimum key, unless there is a NaN, so one key is computed instead of one per vector. It
  // can be the key of another NaN or of the other zero, which is harmless: the selection treats equal elements as one
  // run.
  const LaneValue has_nan = lanes_with_nan(b, vectors);
  const LaneValue key = coarse_key(b, fold(b, LaneOp::kMaxFloat, std::move(vectors)), keys);
  return b.select(has_nan, b.constant(~max_lane(b.lane_bits())), key);
}

/// Finds the lanes in which elements have a key of at most a limit.
class LimitTest {
 public:
  /// `limit` is the index of the argument.
  LimitTest(LaneBuilder& b, int limit, const CoarseKeys& keys)
      : b_(b), keys_(keys), limit_(b.broadcast(limit)), bound_(kNoLaneValue) {
    // Compares elements with the float just below the limit. Floats above that bound and NaNs pass. If the limit is
    // -inf, the bound is a NaN, and everything passes.
    if (are_largest_floats_first(keys)) {
      bound_ = element_of_coarse(b, b.binary(LaneOp::kAdd, limit_, b.constant(1)), keys);
    }
  }

  LaneValue passes(LaneValue x) const {
    if (bound_ == kNoLaneValue) return b_.binary(LaneOp::kAtMost, coarse_key(b_, x, keys_), limit_);
    return b_.binary(LaneOp::kNotAtMostFloat, x, bound_);
  }
  /// The lanes in which an element of any of the vectors passes. Precondition: the number of vectors is even.
  LaneValue any_passes(std::vector<LaneValue> vectors) const {
    if (bound_ == kNoLaneValue) return b_.binary(LaneOp::kAtMost, min_key(b_, std::move(vectors), keys_), limit_);
    const LaneValue has_nan = lanes_with_nan(b_, vectors);
    return b_.binary(LaneOp::kEither, has_nan, passes(fold(b_, LaneOp::kMaxFloat, std::move(vectors))));
  }

 private:
  LaneBuilder& b_;
  const CoarseKeys& keys_;
  LaneValue limit_, bound_;
};

/// Lane i of the result is lane i ^ lane_xor of `x`.
LaneValue exchanged(LaneBuilder& b, LaneValue x, int lane_xor) {
  return lane_xor == 0 ? x : b.unary(LaneOp::kXorLanes, x, lane_xor);
}
/// Loads `count` vectors from index `first` on, `pitch` vectors apart, with their lanes exchanged.
std::vector<LaneValue> load_exchanged(LaneBuilder& b, int pointer, int first, int pitch, int count,
                                      LaneElement element) {
  std::vector<LaneValue> vectors;
  for (int i = 0; i < count; ++i) {
    vectors.push_back(exchanged(b, b.load(pointer, (first + i * pitch) * b.vector_bytes(element), element),
                                RowSelectorCode::lane_xor(i)));
  }
  return vectors;
}
/// Loads the vectors of a chunk that is a column.
std::vector<LaneValue> load_column(LaneBuilder& b, int pointer, int pitch_argument, LaneElement element) {
  std::vector<LaneValue> vectors;
  for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) {
    // Hardware prefetching is late with this many streams.
    b.prefetch(pointer, kColumnAheadBytes);
    vectors.push_back(exchanged(b, b.load(pointer, 0, element), RowSelectorCode::lane_xor(i)));
    b.advance_by_argument(pointer, pitch_argument, 1);
  }
  b.advance_by_argument(pointer, pitch_argument, -RowSelectorCode::kVectorsPerChunk);
  return vectors;
}

/// Finds the minima of computed elements, with the arguments of ComputeElements.
MicrokernelCode<ComputeElements> find_computed_minima(IsaLevel isa, const CoarseKeys& keys,
                                                      const ComputedElements& elements) {
  enum { kMinima, kCount, kFirstSource };
  LaneBuilder b(isa, keys.lane_bits());
  ComputedLanes lanes(b, elements, kFirstSource);
  b.for_blocks(kCount, RowSelectorCode::kVectorsPerChunk, [&] {
    std::vector<LaneValue> vectors;
    for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) vectors.push_back(lanes.vector(i));
    b.store(kMinima, 0, min_key(b, std::move(vectors), keys));
    lanes.advance(RowSelectorCode::kVectorsPerChunk);
    b.advance(kMinima, b.vector_bytes());
  });
  return {b.finish_with(kMinima)};
}

MicrokernelCode<FindMinima> find_minima(IsaLevel isa, const CoarseKeys& keys) {
  enum { kRow, kMinima, kCount };
  constexpr int kVectors = RowSelectorCode::kVectorsPerChunk;
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  b.for_blocks(kCount, kVectors, [&] {
    b.store(kMinima, 0, min_key(b, load_exchanged(b, kRow, 0, 1, kVectors, element), keys));
    b.advance(kRow, kVectors * b.vector_bytes(element));
    b.advance(kMinima, b.vector_bytes());
  });
  return {b.finish_with(kMinima)};
}

MicrokernelCode<FilterKeys> find_passing(IsaLevel isa, const CoarseKeys& keys) {
  enum { kRow, kPassing, kCount, kFirst, kLimit };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  const int vector_bytes = b.vector_bytes(element);
  const LimitTest limit(b, kLimit, keys);
  const LaneValue number = b.variable(b.binary(LaneOp::kAdd, b.numbers(), b.broadcast(kFirst)));
  b.for_blocks(kCount, RowSelectorCode::kVectorsPerChunk, [&] {
    std::vector<LaneValue> vectors;
    for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) {
      // With this prefetch, the time for a row larger than the caches is the time of its loads.
      b.prefetch_ahead(kRow, i * vector_bytes);
      vectors.push_back(b.load(kRow, i * vector_bytes, element));
    }
    b.append(kPassing, number, limit.any_passes(std::move(vectors)), false);
    b.assign(number, b.binary(LaneOp::kAdd, number, b.constant(b.num_lanes())));
    b.advance(kRow, RowSelectorCode::kVectorsPerChunk * vector_bytes);
  });
  return {b.finish_with(kPassing)};
}

MicrokernelCode<MatchMinima> match_minima(IsaLevel isa, int lane_bits) {
  enum { kMinima, kMasks, kCount, kLimit };
  LaneBuilder b(isa, lane_bits);
  const LaneValue limit = b.broadcast(kLimit);
  for (const int num_together : {4, 1}) {
    b.for_blocks(kCount, num_together, [&] {
      for (int i = 0; i < num_together; ++i) {
        const LaneValue minima = b.load(kMinima, i * b.vector_bytes());
        b.store_mask(kMasks, i * b.mask_bytes(), b.binary(LaneOp::kAtMost, minima, limit));
      }
      b.advance(kMinima, num_together * b.vector_bytes());
      b.advance(kMasks, num_together * b.mask_bytes());
    });
  }
  return {b.finish_with(kMasks)};
}

MicrokernelCode<ListChunks> list_chunks(IsaLevel isa, int lane_bits) {
  enum { kMasks, kChunks, kCount };
  LaneBuilder b(isa, lane_bits);
  const LaneElement element = {static_cast<std::uint8_t>(b.mask_bytes()), false};
  const LaneValue zero = b.constant(0);
  const auto load = [&](LaneValue mask) { return b.load_next(kMasks, element, mask); };
  return {filter(b, kChunks, kCount, b.numbers(), load, [&](LaneValue x) { return b.binary(LaneOp::kLess, zero, x); })};
}

MicrokernelCode<MatchElements> match_elements(IsaLevel isa, const CoarseKeys& keys) {
  enum { kBlock, kMasks, kCount, kSteps, kLimit, kPitch };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  const LimitTest limit(b, kLimit, keys);
  b.for_blocks(kCount, 1, [&] {
    b.advance_by(kBlock, b.load(kSteps, 0), b.vector_bytes(element));
    b.advance(kSteps, b.lane_element().bytes);
    for (int i = 0; i < RowSelectorCode::kVectorsPerChunk; ++i) {
      b.store_mask(kMasks, i * b.mask_bytes(), limit.passes(b.load(kBlock, 0, element)));
      b.advance_by_argument(kBlock, kPitch, 1);
    }
    b.advance(kMasks, RowSelectorCode::kVectorsPerChunk * b.mask_bytes());
  });
  return {b.finish_with(kMasks)};
}

MicrokernelCode<FindColumnMinima> find_column_minima(IsaLevel isa, const CoarseKeys& keys) {
  enum { kBlock, kMinima, kCount, kPitch };
  LaneBuilder b(isa, keys.lane_bits());
  b.for_blocks(kCount, 1, [&] {
    b.store(kMinima, 0, min_key(b, load_column(b, kBlock, kPitch, element_of(keys.dtype)), keys));
    b.advance(kBlock, b.vector_bytes(element_of(keys.dtype)));
    b.advance(kMinima, b.vector_bytes());
  });
  return {b.finish_with(kMinima)};
}

MicrokernelCode<FoldMinima> fold_minima(IsaLevel isa, int lane_bits) {
  enum { kFirst, kSecond, kTo, kCount };
  LaneBuilder b(isa, lane_bits);
  b.for_blocks(kCount, 1, [&] {
    const LaneValue first = b.load(kFirst, 0), second = b.load(kSecond, 0);
    b.store(kTo, 0, b.binary(LaneOp::kMin, first, second));
    for (const int pointer : {kFirst, kSecond, kTo}) b.advance(pointer, b.vector_bytes());
  });
  return {b.finish_with(kTo)};
}

MicrokernelCode<FoldFourMinima> fold_four_minima(IsaLevel isa, int lane_bits) {
  enum { kFirst, kSecond, kThird, kFourth, kTo, kCount };
  LaneBuilder b(isa, lane_bits);
  b.for_blocks(kCount, 1, [&] {
    std::vector<LaneValue> minima;
    for (const int pointer : {kFirst, kSecond, kThird, kFourth}) {
      const LaneValue x = b.load(pointer, 0);
      minima.push_back(exchanged(b, x, pointer * RowSelectorCode::kLaneOrders % b.num_lanes()));
      b.advance(pointer, b.vector_bytes());
    }
    const LaneValue low = b.binary(LaneOp::kMin, minima[0], minima[1]);
    const LaneValue high = b.binary(LaneOp::kMin, minima[2], minima[3]);
    b.store(kTo, 0, b.binary(LaneOp::kMin, low, high));
    b.advance(kTo, b.vector_bytes());
  });
  return {b.finish_with(kTo)};
}

MicrokernelCode<FindGroupMinima> find_group_minima(IsaLevel isa, const CoarseKeys& keys, int num_vectors) {
  enum { kRow, kMinima, kCount };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  const std::int32_t vector_bytes = b.vector_bytes(element);
  std::vector<LaneValue> minima;
  for (int i = 0; i < num_vectors; ++i) minima.push_back(b.variable(b.greatest()));
  const auto take = [&](LaneValue minimum, LaneValue key) { b.assign(minimum, b.binary(LaneOp::kMin, minimum, key)); };
  const auto take_blocks = [&](int depth) {
    b.for_blocks(kCount, depth * num_vectors, [&] {
      for (int i = 0; i < num_vectors; ++i) {
        const LaneValue key = min_key(b, load_exchanged(b, kRow, i, num_vectors, depth, element), keys);
        take(minima[static_cast<std::size_t>(i)], key);
      }
      b.advance(kRow, depth * num_vectors * vector_bytes);
    });
  };
  take_blocks(RowSelectorCode::kLaneOrders);
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
    b.store(kMinima, i * b.vector_bytes(), minima[static_cast<std::size_t>(i)]);
  }
  return {b.finish_with(kMinima)};
}

}  // namespace

void append_selection(TopkRowsParameters& p, const MicrokernelSink& sink, const LaneKeys& lane_keys,
                      const SelectionFunctions& f) {
  const IsaLevel isa = sink.isa;
  const CoarseKeys keys = lane_keys.coarse();
  const int lane_bits = keys.lane_bits();
  p.coarse_bytes = lane_bits / 8;
  p.coarse_offset = coarse_offset_of(keys.dtype);
  p.extends_sign = element_of(keys.dtype).is_signed;
  p.make_numbered_keys = append_make_numbered_keys(sink, lane_keys, lane_bits);
  RowSelectorCode& code = p.selector;
  code.num_lanes = num_lanes_of(isa, lane_bits);
  code.filter_row = sink.append(filter_row(isa, keys, false));
  if (f.filters_whole_rows) code.filter_whole_row = sink.append(filter_row(isa, keys, true));
  for (std::size_t i = f.short_sorter.first; i < f.short_sorter.end; ++i) {
    code.find_group_minima[i] = sink.append(find_group_minima(isa, keys, 1 << i));
  }
  p.sorter = append_sorter(sink, lane_bits, f.has_long_rows ? SorterFunctions{} : f.short_sorter);
  if (!f.has_long_rows) return;
  code.find_minima = sink.append(find_minima(isa, keys));
  code.find_passing = sink.append(find_passing(isa, keys));
  code.match_elements = sink.append(match_elements(isa, keys));
  code.find_column_minima = sink.append(find_column_minima(isa, keys));
  code.fold_minima = sink.append(fold_minima(isa, lane_bits));
  code.fold_four_minima = sink.append(fold_four_minima(isa, lane_bits));
  code.match_minima = sink.append(match_minima(isa, lane_bits));
  code.list_chunks = sink.append(list_chunks(isa, lane_bits));
  if (f.computed != nullptr) code.find_computed_minima = sink.append(find_computed_minima(isa, keys, *f.computed));
}

}  // namespace millrace
