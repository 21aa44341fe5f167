// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/lane_function.h"
#include "millrace/base/dtype.h"

namespace millrace {

/// An argmax, or an argmin if `smallest`, of contiguous elements: the first of equals, where -0 equals +0; NaN is found
/// before any number.
struct ArgLanes {
  DType dtype = DType::kF32;
  bool smallest = false;

  int lane_bits() const { return size_bytes(dtype) == 8 ? 64 : 32; }
};

/// Lanes of 32 bits hold the places of as many elements.
inline constexpr std::int64_t kMostPlaces = std::int64_t{1} << 30;

/// The elements of a chunk, of which survey_chunks needs one.
std::int64_t chunk_elements(IsaLevel, const ArgLanes&);

// The microkernels that src/hal/host/routines/arg_rows.h calls, with the same names and arguments.

LaneFunction find_in_few_function(IsaLevel, const ArgLanes&);
LaneFunction survey_chunks_function(IsaLevel, const ArgLanes&);
LaneFunction find_in_chunks_function(IsaLevel, const ArgLanes&);

}  // namespace millrace
