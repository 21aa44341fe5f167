// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/row_keys.h"

namespace millrace {
namespace {

constexpr std::int64_t kUpperHalf = ~((std::int64_t{1} << 32) - 1);
constexpr std::int64_t kSignOfShort = 1 << 15;

/// The key of each loaded float. ORs to `lost`, if that is given, what the key loses of its bits: the sign of -0, and
/// those of a NaN.
LaneValue float_keys(LaneBuilder& b, LaneValue x, DType dtype, LaneValue lost) {
  const LaneValue most = b.constant(magnitude_of(dtype)), zero = b.constant(0);
  const LaneValue magnitude = b.binary(LaneOp::kAnd, x, most);
  const LaneValue is_zero = b.binary(LaneOp::kEqual, magnitude, zero);
  const LaneValue is_nan = b.binary(LaneOp::kLess, b.constant(infinity_of(dtype)), magnitude);
  const LaneValue key = b.select(is_nan, most, b.select(is_zero, zero, turn_negative(b, x, dtype)));
  if (lost == kNoLaneValue) return key;
  const LaneValue difference = b.binary(LaneOp::kXor, x, key);
  const LaneValue lost_now = b.select(b.binary(LaneOp::kEither, is_zero, is_nan), difference, zero);
  b.assign(lost, b.binary(LaneOp::kOr, lost, lost_now));
  return key;
}

/// Shifted, the highest bit of u16 becomes a sign. It is inverted, so that the greater half stays greater.
bool inverts_sign(const LaneKeys& keys) { return keys.has_short_index && keys.dtype == DType::kU16; }

}  // namespace

LaneValue load_some(LaneBuilder& b, int pointer, LaneElement element, LaneValue mask) {
  return mask == kNoLaneValue ? b.load(pointer, 0, element) : b.load_masked(pointer, 0, element, mask, b.constant(0));
}

LaneValue exact_keys(LaneBuilder& b, LaneValue x, const LaneKeys& keys, LaneValue lost) {
  if (!is_float(keys.dtype)) return coarse_key(b, x, coarse(keys));
  const LaneValue key = float_keys(b, x, keys.dtype, lost);
  return keys.largest ? b.binary(LaneOp::kXor, key, b.constant(-1)) : key;
}

LaneValue element_of_exact(LaneBuilder& b, LaneValue key, const LaneKeys& keys) {
  if (!is_float(keys.dtype)) return element_of_coarse(b, key, coarse(keys));
  if (keys.largest) key = b.binary(LaneOp::kXor, key, b.constant(-1));
  return turn_negative(b, key, keys.dtype);
}

LaneValue with_index(LaneBuilder& b, LaneValue key, LaneValue index, const LaneKeys& keys) {
  if (inverts_sign(keys)) key = b.binary(LaneOp::kXor, key, b.constant(kSignOfShort));
  key = keys.are_halved() ? b.binary(LaneOp::kAnd, key, b.constant(kUpperHalf))
                          : b.unary(LaneOp::kShiftLeft, key, keys.index_bits());
  return b.binary(LaneOp::kOr, key, index);
}

LaneValue key_above_index(LaneBuilder& b, LaneValue lane, const LaneKeys& keys) {
  const LaneValue key = b.unary(LaneOp::kShiftRightSigned, lane, keys.index_bits());
  return inverts_sign(keys) ? b.binary(LaneOp::kXor, key, b.constant(kSignOfShort)) : key;
}

}  // namespace millrace
