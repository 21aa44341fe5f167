// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/sort_microkernels.h"

#include <bit>
#include <limits>
#include <optional>

#include "jit/lanes/few_vectors.h"
#include "jit/lanes/row_keys.h"
#include "jit/lanes/sorting_network.h"

namespace millrace {
namespace {

/// The power of two of vectors that hold so many elements.
int vectors_for(const LaneBuilder& b, int num_elements) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>((num_elements + b.num_lanes() - 1) / b.num_lanes())));
}

/// Appends the lanes of both parts. A rest has the lanes of `mask` alone.
void append_parts(LaneBuilder& b, int to_low, int to_high, LaneValue keys, LaneValue low, LaneValue high,
                  LaneValue mask) {
  const bool is_rest = mask != kNoLaneValue;
  if (is_rest) {
    low = b.binary(LaneOp::kBoth, low, mask);
    high = b.binary(LaneOp::kBoth, high, mask);
  }
  b.append(to_low, keys, low, is_rest);
  b.append(to_high, keys, high, is_rest);
  // Shorter vectors take so long for a line that it comes in time.
  if (is_rest || b.isa() != IsaLevel::kAvx512) return;
  b.prefetch_to_append(to_low);
  b.prefetch_to_append(to_high);
}

/// The keys of a few vectors, sorted.
std::vector<LaneValue> load_sorted(LaneBuilder& b, int pointer, const FewMasks& masks, int num_vectors) {
  const int vector_bytes = b.num_lanes() * b.lane_element().bytes;
  std::vector<LaneValue> vectors;
  for (int i = 0; i < num_vectors; ++i) {
    vectors.push_back(masks.load(pointer, i * vector_bytes, b.lane_element(), i, b.greatest()));
  }
  sort_lanes(b, vectors);
  return vectors;
}

}  // namespace

LaneElement element_of(DType dtype) {
  return {static_cast<std::uint8_t>(size_bytes(dtype)), is_float(dtype) || is_signed(dtype)};
}

LaneValue true_is_one(LaneBuilder& b, LaneValue x) {
  const LaneValue zero = b.constant(0), one = b.constant(1);
  return b.select(b.binary(LaneOp::kEqual, x, zero), zero, one);
}

LaneValue turn_negative(LaneBuilder& b, LaneValue x, DType dtype, bool inverts_all) {
  return b.unary(inverts_all ? LaneOp::kInvertIfNegativeThenAll : LaneOp::kInvertIfNegative, x, magnitude_of(dtype));
}

std::int64_t magnitude_of(DType dtype) {
  return std::numeric_limits<std::int64_t>::max() >> (64 - 8 * size_bytes(dtype));
}

std::int64_t infinity_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 0x7c00;
    case DType::kBF16:
      return 0x7f80;
    case DType::kF32:
      return 0x7f80'0000;
    default:
      return 0x7ff0'0000'0000'0000;
  }
}

std::int64_t inverted_sign_of(DType dtype) {
  const bool inverts = !is_float(dtype) && !is_signed(dtype) && size_bytes(dtype) >= 4;
  return inverts ? std::int64_t(std::uint64_t{1} << (8 * size_bytes(dtype) - 1)) : 0;
}

MicrokernelCode<MakeKeys> make_keys_function(IsaLevel isa, const LaneKeys& keys) {
  enum { kRow, kKeys, kCount, kFirst };
  LaneBuilder b(isa, keys.lane_bits());
  RowKeys row(b, keys, kRow, kFirst);
  b.for_vectors(kCount, [&](LaneValue mask) {
    b.store(kKeys, 0, b.lane_element(), row.next(mask), mask);
    b.advance(kKeys, b.num_lanes() * b.lane_element().bytes);
  });
  return {b.finish_with_any(row.lost())};
}

MicrokernelCode<MakeNumberedKeys> make_numbered_keys_function(IsaLevel isa, const LaneKeys& keys,
                                                              std::uint8_t number_bytes) {
  enum { kElements, kNumbers, kKeys, kCount };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype), number = {number_bytes, false};
  const LaneValue lost = b.variable(b.constant(0));
  b.for_vectors(kCount, [&](LaneValue mask) {
    const LaneValue key = exact_keys(b, load_some(b, kElements, element, mask), keys, lost);
    b.store(kKeys, 0, b.lane_element(), with_index(b, key, load_some(b, kNumbers, number, mask), keys), mask);
    b.advance(kElements, b.num_lanes() * element.bytes);
    b.advance(kNumbers, b.num_lanes() * number.bytes);
    b.advance(kKeys, b.num_lanes() * b.lane_element().bytes);
  });
  return {b.finish_with_any(lost)};
}

MicrokernelCode<SortFew> sort_few_function(IsaLevel isa, int lane_bits, int num_vectors) {
  enum { kFrom, kTo, kCount };
  LaneBuilder b(isa, lane_bits);
  const FewMasks masks(b, kCount, num_vectors / 2);
  const std::vector<LaneValue> vectors = load_sorted(b, kFrom, masks, num_vectors);
  for (int i = 0; i < num_vectors; ++i) store_key(b, kTo, i, vectors[static_cast<std::size_t>(i)], masks);
  return {b.finish_with(kTo)};
}

MicrokernelCode<SortFew> sort_few_results_function(IsaLevel isa, const LaneKeys& keys, SortResult result,
                                                   int num_vectors) {
  enum { kFrom, kResults, kCount };
  LaneBuilder b(isa, keys.lane_bits());
  const FewMasks masks(b, kCount, num_vectors / 2);
  const std::vector<LaneValue> vectors = load_sorted(b, kFrom, masks, num_vectors);
  for (int i = 0; i < num_vectors; ++i) {
    store_result(b, kResults, i, vectors[static_cast<std::size_t>(i)], keys, result, masks);
  }
  return {b.finish_with(kResults)};
}

MicrokernelCode<SortValues> sort_values_function(IsaLevel isa, const LaneKeys& keys, int num_elements) {
  enum { kRow, kValues, kCount };
  LaneBuilder b(isa, keys.lane_bits());
  const int num_vectors = vectors_for(b, num_elements);
  const FewMasks masks(b, kCount, num_elements / b.num_lanes());
  const LaneElement element = element_of(keys.dtype);
  const int vector_bytes = b.num_lanes() * element.bytes;
  std::optional<SpecialFloats> special;
  if (is_float(keys.dtype)) special.emplace(b, keys.dtype);
  std::vector<LaneValue> vectors;
  for (int i = 0; i < num_vectors; ++i) {
    const LaneValue x = masks.load(kRow, i * vector_bytes, element, i, b.constant(0));
    if (special) special->add(x);
    const LaneValue key = coarse_key(b, x, coarse(keys));
    const LaneValue mask = masks.of(i);
    vectors.push_back(mask == kNoLaneValue ? key : b.select(mask, key, b.greatest()));
  }
  const LaneValue found = special ? special->found() : b.constant(0);
  sort_lanes(b, vectors);
  for (int i = 0; i < num_vectors; ++i) {
    const LaneValue value = element_of_coarse(b, vectors[static_cast<std::size_t>(i)], coarse(keys));
    b.store(kValues, i * vector_bytes, element, value, masks.of(i));
  }
  return {b.finish_with_any(found)};
}

MicrokernelCode<SortIndices> sort_indices_function(IsaLevel isa, const LaneKeys& keys, int num_elements) {
  enum { kRow, kIndices, kCount };
  LaneBuilder b(isa, keys.lane_bits());
  const int num_vectors = vectors_for(b, num_elements);
  const FewMasks masks(b, kCount, num_elements / b.num_lanes());
  const LaneElement element = element_of(keys.dtype);
  std::vector<LaneValue> vectors;
  for (int i = 0; i < num_vectors; ++i) {
    const LaneValue x = masks.load(kRow, i * b.num_lanes() * element.bytes, element, i, b.constant(0));
    const LaneValue index = b.binary(LaneOp::kAdd, b.numbers(), b.constant(i * b.num_lanes()));
    const LaneValue key = with_index(b, exact_keys(b, x, keys, kNoLaneValue), index, keys);
    const LaneValue mask = masks.of(i);
    vectors.push_back(mask == kNoLaneValue ? key : b.select(mask, key, b.greatest()));
  }
  sort_lanes(b, vectors);
  for (int i = 0; i < num_vectors; ++i) {
    store_indices(b, kIndices, i * b.num_lanes() * kIndexBytes, vectors[static_cast<std::size_t>(i)], keys, masks.of(i),
                  masks.count_from(i));
  }
  return {b.finish_with(kIndices)};
}

MicrokernelCode<TakeRun> take_run_function(IsaLevel isa, DType dtype, EqualFloats run) {
  enum { kRow, kTaken, kCount };
  LaneBuilder b(isa, size_bytes(dtype) == 8 ? 64 : 32);
  const LaneElement element = element_of(dtype);
  b.for_loaded_vectors(
      kCount,
      [&](LaneValue mask) {
        const LaneValue x = load_some(b, kRow, element, mask);
        b.advance(kRow, b.num_lanes() * element.bytes);
        return x;
      },
      [&](LaneValue x, LaneValue mask) {
        const LaneValue magnitude = b.binary(LaneOp::kAnd, x, b.constant(magnitude_of(dtype)));
        LaneValue is_taken = run == EqualFloats::kZeros
                                 ? b.binary(LaneOp::kEqual, magnitude, b.constant(0))
                                 : b.binary(LaneOp::kLess, b.constant(infinity_of(dtype)), magnitude);
        const bool is_rest = mask != kNoLaneValue;
        if (is_rest) is_taken = b.binary(LaneOp::kBoth, is_taken, mask);
        b.append(kTaken, x, is_taken, is_rest);
      });
  return {b.finish_with(kTaken)};
}

MicrokernelCode<PartitionKeys> partition_function(IsaLevel isa, int lane_bits, PartitionAt at) {
  enum { kData, kLow, kHigh, kCount, kPivot };
  LaneBuilder b(isa, lane_bits);
  const LaneValue pivot = b.broadcast(kPivot);
  b.for_loaded_vectors(
      kCount,
      [&](LaneValue mask) {
        const LaneValue keys = load_some(b, kData, b.lane_element(), mask);
        b.advance(kData, b.num_lanes() * b.lane_element().bytes);
        return keys;
      },
      [&](LaneValue keys, LaneValue mask) {
        const bool is_less = at == PartitionAt::kLess;
        const LaneValue first = is_less ? b.binary(LaneOp::kLess, keys, pivot) : b.binary(LaneOp::kLess, pivot, keys);
        const LaneValue second = b.invert(first);
        append_parts(b, kLow, kHigh, keys, is_less ? first : second, is_less ? second : first, mask);
      });
  return {b.finish_with(kLow)};
}

MicrokernelCode<PartitionElements> partition_elements_function(IsaLevel isa, const LaneKeys& keys) {
  enum { kElements, kLow, kHigh, kCount, kPivot, kFirst };
  LaneBuilder b(isa, keys.lane_bits());
  RowKeys row(b, keys, kElements, kFirst);
  const LaneValue pivot = b.broadcast(kPivot);
  b.for_loaded_vectors(
      kCount,
      [&](LaneValue mask) {
        b.prefetch_ahead(kElements, 0);
        return row.next(mask);
      },
      [&](LaneValue key, LaneValue mask) {
        const LaneValue low = b.binary(LaneOp::kLess, key, pivot);
        append_parts(b, kLow, kHigh, key, low, b.invert(low), mask);
      });
  return {b.finish_with_sum_of_any(row.lost(), kLow)};
}

MicrokernelCode<WriteFromKeys> write_values_function(IsaLevel isa, const LaneKeys& keys) {
  enum { kKeys, kValues, kCount };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  b.for_vectors(kCount, [&](LaneValue mask) {
    const LaneValue key = load_some(b, kKeys, b.lane_element(), mask);
    b.store(kValues, 0, element, value_of(b, key, keys), mask);
    b.advance(kKeys, b.num_lanes() * b.lane_element().bytes);
    b.advance(kValues, b.num_lanes() * element.bytes);
  });
  return {b.finish_with(kValues)};
}

MicrokernelCode<WriteFromKeys> write_indices_function(IsaLevel isa, const LaneKeys& of_keys) {
  enum { kKeys, kIndices, kCount };
  LaneBuilder b(isa, of_keys.lane_bits());
  b.for_vectors(kCount, [&](LaneValue mask) {
    const LaneValue keys = load_some(b, kKeys, b.lane_element(), mask);
    store_indices(b, kIndices, 0, keys, of_keys, mask, mask == kNoLaneValue ? mask : b.broadcast(kCount));
    b.advance(kKeys, b.num_lanes() * b.lane_element().bytes);
    b.advance(kIndices, b.num_lanes() * kIndexBytes);
  });
  return {b.finish_with(kIndices)};
}

}  // namespace millrace
