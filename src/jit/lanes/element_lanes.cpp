// SPDX-License-Identifier: Apache-2.0
// How lanes hold elements of each dtype: widths, bits and order.
#include "jit/lanes/element_lanes.h"

namespace millrace {

LaneElement element_of(DType dtype) {
  return {static_cast<std::uint8_t>(size_bytes(dtype)), is_float(dtype) || is_signed(dtype)};
}

std::int64_t magnitude_of(DType dtype) { return max_lane(8 * static_cast<int>(size_bytes(dtype))); }

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

LaneValue invert_bits(LaneBuilder& b, LaneValue x, std::int64_t bits) {
  return bits == 0 ? x : b.binary(LaneOp::kXor, x, b.constant(bits));
}

LaneValue invert_negative(LaneBuilder& b, LaneValue x, DType dtype, bool inverts_all) {
  return b.unary(inverts_all ? LaneOp::kInvertIfNegativeThenAll : LaneOp::kInvertIfNegative, x, magnitude_of(dtype));
}

LaneValue true_is_one(LaneBuilder& b, LaneValue x) {
  const LaneValue zero = b.constant(0), one = b.constant(1);
  return b.select(b.binary(LaneOp::kEqual, x, zero), zero, one);
}

LaneValue widen_float(LaneBuilder& b, LaneValue x, DType dtype) {
  if (dtype == DType::kF16) return b.unary(LaneOp::kFromHalf, x);
  return dtype == DType::kBF16 ? b.unary(LaneOp::kShiftLeft, x, 16) : x;
}

LaneValue narrow_float(LaneBuilder& b, LaneValue x, DType dtype) {
  if (dtype == DType::kF16) return b.unary(LaneOp::kToHalf, x);
  if (dtype != DType::kBF16) return x;
  const LaneValue high = b.unary(LaneOp::kShiftRight, x, 16);
  const LaneValue odd = b.binary(LaneOp::kAnd, high, b.constant(1));
  const LaneValue half = b.binary(LaneOp::kAdd, odd, b.constant(0x7fff));
  const LaneValue rounded = b.unary(LaneOp::kShiftRight, b.binary(LaneOp::kAdd, x, half), 16);
  const LaneValue nan = b.binary(LaneOp::kOr, high, b.constant(0x40));
  return b.select(b.binary(LaneOp::kUnordered, x, x), nan, rounded);
}

}  // namespace millrace
