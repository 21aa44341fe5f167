// SPDX-License-Identifier: Apache-2.0
// Makes keys from elements, and results from keys. Keys order like the elements, and may hold an index.
#include "jit/lanes/sort_keys.h"

namespace millrace {
namespace {

constexpr std::int64_t kUpperHalf = ~((std::int64_t{1} << 32) - 1);
constexpr std::int64_t kSignOfShort = 1 << 15;

/// The bits to invert in an integer. An unsigned integer needs its highest bit inverted; a descending order inverts all
/// bits. The two cancel in the highest bit.
std::int64_t inverted_bits_of(const CoarseKeys& keys) { return inverted_sign_of(keys.dtype) ^ (keys.largest ? -1 : 0); }

/// The key of a loaded float. If `lost` is given, ORs into it the bits that the key does not keep: the sign of -0, and
/// the bits of a NaN.
LaneValue float_key(LaneBuilder& b, LaneValue x, DType dtype, LaneValue lost) {
  const LaneValue max = b.constant(magnitude_of(dtype)), zero = b.constant(0);
  const LaneValue magnitude = b.binary(LaneOp::kAnd, x, max);
  const LaneValue is_zero = b.binary(LaneOp::kEqual, magnitude, zero);
  const LaneValue is_nan = b.binary(LaneOp::kLess, b.constant(infinity_of(dtype)), magnitude);
  const LaneValue key = b.select(is_nan, max, b.select(is_zero, zero, invert_negative(b, x, dtype)));
  if (lost == kNoLaneValue) return key;
  const LaneValue difference = b.binary(LaneOp::kXor, x, key);
  const LaneValue lost_now = b.select(b.binary(LaneOp::kEither, is_zero, is_nan), difference, zero);
  b.assign(lost, b.binary(LaneOp::kOr, lost, lost_now));
  return key;
}

/// The bit to invert in a key above a short index. Shifting a u16 up makes its highest bit the sign of the lane;
/// inverting that bit keeps the order.
std::int64_t sign_of_short(const LaneKeys& keys) {
  return keys.has_short_index && keys.dtype == DType::kU16 ? kSignOfShort : 0;
}

}  // namespace

std::int64_t coarse_offset_of(DType dtype) {
  return is_float(dtype) ? infinity_of(dtype) - max_lane(lane_bits_of(dtype)) : 0;
}

LaneValue coarse_key(LaneBuilder& b, LaneValue x, const CoarseKeys& keys) {
  if (is_float(keys.dtype)) {
    // ~(x + offset) = ~x - offset
    const std::int64_t offset = coarse_offset_of(keys.dtype);
    x = invert_negative(b, x, keys.dtype, keys.largest);
    return b.binary(LaneOp::kAdd, x, b.constant(keys.largest ? -offset : offset));
  }
  if (keys.dtype == DType::kBool) x = true_is_one(b, x);
  return invert_bits(b, x, inverted_bits_of(keys));
}

LaneValue element_of_coarse(LaneBuilder& b, LaneValue key, const CoarseKeys& keys) {
  key = invert_bits(b, key, inverted_bits_of(keys));
  if (!is_float(keys.dtype)) return key;
  return invert_negative(b, b.binary(LaneOp::kAdd, key, b.constant(-coarse_offset_of(keys.dtype))), keys.dtype);
}

LaneValue exact_key(LaneBuilder& b, LaneValue x, const LaneKeys& keys, LaneValue lost) {
  if (!is_float(keys.dtype)) return coarse_key(b, x, keys.coarse());
  return invert_bits(b, float_key(b, x, keys.dtype, lost), keys.largest ? -1 : 0);
}

LaneValue with_index(LaneBuilder& b, LaneValue key, LaneValue index, const LaneKeys& keys) {
  key = invert_bits(b, key, sign_of_short(keys));
  key = keys.are_truncated() ? b.binary(LaneOp::kAnd, key, b.constant(kUpperHalf))
                             : b.unary(LaneOp::kShiftLeft, key, keys.index_bits());
  return b.binary(LaneOp::kOr, key, index);
}

LaneValue value_of(LaneBuilder& b, LaneValue key, const LaneKeys& keys) {
  if (!keys.with_index) return element_of_coarse(b, key, keys.coarse());
  key = invert_bits(b, b.unary(LaneOp::kShiftRightSigned, key, keys.index_bits()), sign_of_short(keys));
  if (!is_float(keys.dtype)) return element_of_coarse(b, key, keys.coarse());
  return invert_negative(b, invert_bits(b, key, keys.largest ? -1 : 0), keys.dtype);
}

void store_indices(LaneBuilder& b, int pointer, std::int32_t offset_bytes, LaneValue lanes, const LaneKeys& keys,
                   LaneValue mask, LaneValue count) {
  const LaneValue index = b.binary(LaneOp::kAnd, lanes, b.constant((std::int64_t{1} << keys.index_bits()) - 1));
  if (b.lane_bits() == 64) return b.store(pointer, offset_bytes, index, mask);
  // An i64 is a pair of lanes; the upper one is 0.
  const auto [low, high] = b.regroup(index, b.constant(0), BitOrder::interleaved(b.num_lanes()));
  LaneValue pair_mask = kNoLaneValue;
  for (const bool is_high : {false, true}) {
    if (mask != kNoLaneValue) {
      const LaneValue first = b.constant(is_high ? b.num_lanes() : 0);
      pair_mask =
          b.binary(LaneOp::kLess, b.binary(LaneOp::kAdd, b.numbers(), first), b.binary(LaneOp::kAdd, count, count));
    }
    b.store(pointer, offset_bytes + (is_high ? b.vector_bytes() : 0), is_high ? high : low, pair_mask);
  }
}

void SpecialFloats::add(LaneValue x) {
  const LaneValue magnitude = b_.binary(LaneOp::kAnd, x, b_.constant(magnitude_of(dtype_)));
  b_.assign(min_, b_.binary(LaneOp::kMin, min_, x));
  b_.assign(max_magnitude_, b_.binary(LaneOp::kMax, max_magnitude_, magnitude));
}

LaneValue SpecialFloats::found() {
  // As signed integers, no float is below -0. Without their signs, NaNs are above infinity.
  const LaneValue has_minus_zero = b_.binary(LaneOp::kEqual, min_, b_.constant(~magnitude_of(dtype_)));
  const LaneValue has_nan = b_.binary(LaneOp::kLess, b_.constant(infinity_of(dtype_)), max_magnitude_);
  return b_.select(b_.binary(LaneOp::kEither, has_minus_zero, has_nan), b_.constant(-1), b_.constant(0));
}

RowKeys::RowKeys(LaneBuilder& b, const LaneKeys& keys, int row, int first)
    : b_(b), keys_(keys), row_(row), lost_(b.variable(b.constant(0))) {
  if (is_float(keys.dtype) && !keys.with_index) special_.emplace(b, keys.dtype);
  if (keys.with_index) index_ = b.variable(b.binary(LaneOp::kAdd, b.numbers(), b.broadcast(first)));
}

LaneValue RowKeys::next(LaneValue mask) {
  const LaneValue x = b_.load_next(row_, element_of(keys_.dtype), mask);
  if (special_) special_->add(x);
  if (!keys_.with_index) return coarse_key(b_, x, keys_.coarse());
  const LaneValue key = with_index(b_, exact_key(b_, x, keys_, lost_), index_, keys_);
  b_.assign(index_, b_.binary(LaneOp::kAdd, index_, b_.constant(b_.num_lanes())));
  return key;
}

}  // namespace millrace
