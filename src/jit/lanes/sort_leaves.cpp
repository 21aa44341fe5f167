// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/sort_leaves.h"

#include <limits>

#include "jit/lanes/sorting_network.h"

namespace millrace {
namespace {

constexpr int kIndexBits = 32;
constexpr std::int64_t kLowerHalf = (std::int64_t{1} << 32) - 1;
constexpr std::int64_t kUpperHalf = ~kLowerHalf;

LaneValue inverted(LaneBuilder& b, LaneValue x) { return b.binary(LaneOp::kXor, x, b.constant(-1)); }

/// The key of each loaded float. ORs to `lost` what the key loses of its bits: the sign of -0, and those of a NaN.
LaneValue float_keys(LaneBuilder& b, LaneValue x, DType dtype, LaneValue lost) {
  const LaneValue most = b.constant(magnitude_of(dtype)), zero = b.constant(0);
  const LaneValue magnitude = b.binary(LaneOp::kAnd, x, most);
  const LaneValue is_zero = b.binary(LaneOp::kEqual, magnitude, zero);
  const LaneValue is_nan = b.binary(LaneOp::kLess, b.constant(infinity_of(dtype)), magnitude);
  const LaneValue key = b.select(is_nan, most, b.select(is_zero, zero, turn_negative(b, x, dtype)));
  const LaneValue difference = b.binary(LaneOp::kXor, x, key);
  const LaneValue lost_now = b.select(b.binary(LaneOp::kEither, is_zero, is_nan), difference, zero);
  b.assign(lost, b.binary(LaneOp::kOr, lost, lost_now));
  return key;
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
  return b.unary(inverts_all ? LaneOp::kTurnNegativeInverted : LaneOp::kTurnNegative, x, magnitude_of(dtype));
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

LaneFunction make_keys_function(IsaLevel isa, const LaneKeys& keys) {
  enum { kRow, kKeys, kCount, kFirstIndex };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  const std::int64_t sign = inverted_sign_of(keys.dtype);
  const LaneValue lost = b.variable(b.constant(0));
  LaneValue index = kNoLaneValue;
  if (keys.with_index) index = b.variable(b.binary(LaneOp::kAdd, b.numbers(), b.broadcast(kFirstIndex)));
  b.for_vectors(kCount, [&](LaneValue mask) {
    LaneValue key =
        mask == kNoLaneValue ? b.load(kRow, 0, element) : b.load_masked(kRow, 0, element, mask, b.constant(0));
    if (keys.dtype == DType::kBool) key = true_is_one(b, key);
    if (is_float(keys.dtype)) key = float_keys(b, key, keys.dtype, lost);
    if (sign != 0) key = b.binary(LaneOp::kXor, key, b.constant(sign));
    if (keys.largest) key = inverted(b, key);
    if (keys.with_index) {
      key = keys.are_halved() ? b.binary(LaneOp::kAnd, key, b.constant(kUpperHalf))
                              : b.unary(LaneOp::kShiftLeft, key, kIndexBits);
      key = b.binary(LaneOp::kOr, key, index);
      b.assign(index, b.binary(LaneOp::kAdd, index, b.constant(b.num_lanes())));
    }
    b.store(kKeys, 0, b.lane_element(), key, mask);
    b.advance(kRow, b.num_lanes() * element.bytes);
    b.advance(kKeys, b.num_lanes() * b.lane_element().bytes);
  });
  return b.finish_with_any(lost);
}

LaneFunction sort_few_function(IsaLevel isa, int lane_bits, int num_vectors) {
  enum { kFrom, kTo, kCount };
  LaneBuilder b(isa, lane_bits);
  const int vector_bytes = b.num_lanes() * b.lane_element().bytes;
  // The count is above half of the lanes, if there are several vectors: those of the first half are whole.
  const int num_whole = num_vectors / 2;
  const LaneValue most =
      b.constant(lane_bits == 64 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int32_t>::max());
  const LaneValue count = b.broadcast(kCount);
  const auto mask_of = [&](int vector) {
    if (vector < num_whole) return kNoLaneValue;
    const LaneValue position = b.binary(LaneOp::kAdd, b.numbers(), b.constant(vector * b.num_lanes()));
    return b.binary(LaneOp::kLess, position, count);
  };
  std::vector<LaneValue> vectors;
  for (int i = 0; i < num_vectors; ++i) {
    const LaneValue mask = mask_of(i);
    vectors.push_back(mask == kNoLaneValue ? b.load(kFrom, i * vector_bytes, b.lane_element())
                                           : b.load_masked(kFrom, i * vector_bytes, b.lane_element(), mask, most));
  }
  sort_lanes(b, vectors);
  for (int i = 0; i < num_vectors; ++i) {
    b.store(kTo, i * vector_bytes, b.lane_element(), vectors[static_cast<std::size_t>(i)], mask_of(i));
  }
  return b.finish_with(kTo);
}

LaneFunction partition_function(IsaLevel isa, int lane_bits, PartitionAt at) {
  enum { kData, kLow, kHigh, kCount, kPivot };
  LaneBuilder b(isa, lane_bits);
  const LaneValue pivot = b.broadcast(kPivot);
  b.for_vectors(kCount, [&](LaneValue mask) {
    const bool is_rest = mask != kNoLaneValue;
    const LaneValue keys =
        is_rest ? b.load_masked(kData, 0, b.lane_element(), mask, pivot) : b.load(kData, 0, b.lane_element());
    b.advance(kData, b.num_lanes() * b.lane_element().bytes);
    LaneValue low, high;
    if (at == PartitionAt::kLess) {
      low = b.binary(LaneOp::kLess, keys, pivot);
      high = b.invert(low);
    } else {
      high = b.binary(LaneOp::kLess, pivot, keys);
      low = b.invert(high);
    }
    if (is_rest) {
      low = b.binary(LaneOp::kBoth, low, mask);
      high = b.binary(LaneOp::kBoth, high, mask);
    }
    b.append(kLow, keys, low, is_rest);
    b.append(kHigh, keys, high, is_rest);
  });
  return b.finish_with(kLow);
}

LaneFunction write_values_function(IsaLevel isa, const LaneKeys& keys) {
  enum { kKeys, kValues, kCount };
  LaneBuilder b(isa, keys.lane_bits());
  const LaneElement element = element_of(keys.dtype);
  const std::int64_t sign = inverted_sign_of(keys.dtype);
  b.for_vectors(kCount, [&](LaneValue mask) {
    LaneValue value = mask == kNoLaneValue ? b.load(kKeys, 0, b.lane_element())
                                           : b.load_masked(kKeys, 0, b.lane_element(), mask, b.constant(0));
    if (keys.with_index) value = b.unary(LaneOp::kShiftRightSigned, value, kIndexBits);
    if (keys.largest) value = inverted(b, value);
    if (is_float(keys.dtype)) value = turn_negative(b, value, keys.dtype);
    if (sign != 0) value = b.binary(LaneOp::kXor, value, b.constant(sign));
    b.store(kValues, 0, element, value, mask);
    b.advance(kKeys, b.num_lanes() * b.lane_element().bytes);
    b.advance(kValues, b.num_lanes() * element.bytes);
  });
  return b.finish_with(kValues);
}

LaneFunction write_indices_function(IsaLevel isa) {
  enum { kKeys, kIndices, kCount };
  LaneBuilder b(isa, 64);
  b.for_vectors(kCount, [&](LaneValue mask) {
    const LaneValue keys = mask == kNoLaneValue ? b.load(kKeys, 0, b.lane_element())
                                                : b.load_masked(kKeys, 0, b.lane_element(), mask, b.constant(0));
    const LaneValue index = b.binary(LaneOp::kAnd, keys, b.constant(kLowerHalf));
    b.store(kIndices, 0, b.lane_element(), index, mask);
    b.advance(kKeys, b.num_lanes() * b.lane_element().bytes);
    b.advance(kIndices, b.num_lanes() * b.lane_element().bytes);
  });
  return b.finish_with(kIndices);
}

}  // namespace millrace
