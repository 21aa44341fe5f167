// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/sort_leaves.h"

namespace millrace {

/// Keys that take few instructions and keep an element's width, at least 32 bits: they order like LaneKeys, except that
/// -0 is next to +0 instead of equal, and NaNs differ from each other.
struct CoarseKeys {
  DType dtype = DType::kF32;
  bool largest = false;

  int lane_bits() const { return size_bytes(dtype) == 8 ? 64 : 32; }
};

/// What is added to a float's key, so that -inf has the least key and the NaNs with a sign wrap to the greatest ones.
std::int64_t coarse_offset_of(DType);

// The functions that src/hal/host/routines/row_selector.h and topk_rows.h call, with the same names and arguments.

LaneFunction find_minima_function(IsaLevel, const CoarseKeys&);
LaneFunction fold_minima_function(IsaLevel, int lane_bits);
LaneFunction find_group_minima_function(IsaLevel, const CoarseKeys&, int num_vectors);
LaneFunction filter_row_function(IsaLevel, const CoarseKeys&);
LaneFunction filter_minima_function(IsaLevel, int lane_bits);

}  // namespace millrace
