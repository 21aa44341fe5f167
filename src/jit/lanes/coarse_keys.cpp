// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/coarse_keys.h"

#include <limits>

#include "jit/lanes/sort_microkernels.h"

namespace millrace {
namespace {

/// What is inverted of an integer: the highest bit of an unsigned one, all bits, or both.
std::int64_t inverted_bits_of(const CoarseKeys& keys) { return inverted_sign_of(keys.dtype) ^ (keys.largest ? -1 : 0); }

LaneValue inverted(LaneBuilder& b, LaneValue x, std::int64_t bits) {
  return bits == 0 ? x : b.binary(LaneOp::kXor, x, b.constant(bits));
}

}  // namespace

std::int64_t coarse_offset_of(DType dtype) {
  if (!is_float(dtype)) return 0;
  const std::int64_t least =
      size_bytes(dtype) == 8 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int32_t>::min();
  return least + 1 + infinity_of(dtype);
}

LaneValue coarse_key(LaneBuilder& b, LaneValue x, const CoarseKeys& keys) {
  if (is_float(keys.dtype)) {
    // ~(x + offset) = ~x - offset
    const std::int64_t offset = coarse_offset_of(keys.dtype);
    x = turn_negative(b, x, keys.dtype, keys.largest);
    return b.binary(LaneOp::kAdd, x, b.constant(keys.largest ? -offset : offset));
  }
  if (keys.dtype == DType::kBool) x = true_is_one(b, x);
  return inverted(b, x, inverted_bits_of(keys));
}

LaneValue element_of_coarse(LaneBuilder& b, LaneValue key, const CoarseKeys& keys) {
  key = inverted(b, key, inverted_bits_of(keys));
  if (!is_float(keys.dtype)) return key;
  return turn_negative(b, b.binary(LaneOp::kAdd, key, b.constant(-coarse_offset_of(keys.dtype))), keys.dtype);
}

}  // namespace millrace
