// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/lane_function.h"

namespace millrace {

/// The f32 of the bf16 in the lower 16 bits.
LaneValue from_bfloat16(LaneBuilder&, LaneValue);
/// An f32 rounded to nearest, ties to even, in the lower 16 bits; see narrow_bf16.
LaneValue to_bfloat16(LaneBuilder&, LaneValue);

}  // namespace millrace
