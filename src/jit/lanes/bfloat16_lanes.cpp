// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/bfloat16_lanes.h"

namespace millrace {

LaneValue from_bfloat16(LaneBuilder& b, LaneValue x) { return b.unary(LaneOp::kShiftLeft, x, 16); }

LaneValue to_bfloat16(LaneBuilder& b, LaneValue x) {
  const LaneValue high = b.unary(LaneOp::kShiftRight, x, 16);
  const LaneValue odd = b.binary(LaneOp::kAnd, high, b.constant(1));
  const LaneValue half = b.binary(LaneOp::kAdd, odd, b.constant(0x7fff));
  const LaneValue rounded = b.unary(LaneOp::kShiftRight, b.binary(LaneOp::kAdd, x, half), 16);
  const LaneValue nan = b.binary(LaneOp::kOr, high, b.constant(0x40));
  return b.select(b.binary(LaneOp::kUnordered, x, x), nan, rounded);
}

}  // namespace millrace
