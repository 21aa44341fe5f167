// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/lane_function.h"
#include "millrace/base/dtype.h"

namespace millrace {

/// Keys that take few instructions, keep an element's width, at least 32 bits, and give the element back. They order
/// like LaneKeys, except that -0 is next to +0 instead of equal, and NaNs differ from each other.
struct CoarseKeys {
  DType dtype = DType::kF32;
  bool largest = false;

  int lane_bits() const { return size_bytes(dtype) == 8 ? 64 : 32; }
};

/// What is added to a float's key, so that -inf has the least key and the NaNs with a sign wrap to the greatest ones.
std::int64_t coarse_offset_of(DType);

/// The key of a loaded element, and the element of a key.
LaneValue coarse_key(LaneBuilder&, LaneValue element, const CoarseKeys&);
LaneValue element_of_coarse(LaneBuilder&, LaneValue key, const CoarseKeys&);

}  // namespace millrace
