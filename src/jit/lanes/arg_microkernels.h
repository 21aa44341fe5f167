// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/microkernel_code.h"
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

// What each microkernel does: src/hal/host/routines/microkernels.inc.

MicrokernelCode<FindInFew> find_in_few_function(IsaLevel, const ArgLanes&);
MicrokernelCode<SurveyChunks> survey_chunks_function(IsaLevel, const ArgLanes&);
MicrokernelCode<FindInChunks> find_in_chunks_function(IsaLevel, const ArgLanes&);

}  // namespace millrace
