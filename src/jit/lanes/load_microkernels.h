// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/lanes/microkernel_sink.h"
#include "millrace/base/status.h"
#include "millrace/jit/body.h"

namespace millrace {

/// How the elements of a row are computed.
struct ComputedElements {
  /// The operand that a load of the body reads.
  struct Source {
    DType dtype = DType::kF32;
    bool is_spread = false;    // one element for the whole row; otherwise contiguous elements
    bool is_repeated = false;  // the same for every row, so that it is in the cache
  };
  std::vector<Source> sources;
  Body body;
  DType dtype = DType::kF32;  // the elements' dtype
};

/// Whether the body is short enough that a loop can contain several copies of its code.
bool is_short(const ComputedElements&);

/// Computes elements within a function. The function's arguments from `first_pointer` on are pointers to the sources.
/// Preconditions: compute_elements_function() does not refuse the elements, and lanes are as wide as the body needs
/// (lane_bits_of).
class ComputedLanes {
 public:
  ComputedLanes(LaneBuilder&, const ComputedElements&, int first_pointer);

  /// The vector that is `number` vectors after the pointers, in the form that a load of the elements returns. Lanes
  /// outside a mask are unspecified, and read no memory.
  LaneValue vector(int number, LaneValue mask = kNoLaneValue);
  void advance(int num_vectors);

 private:
  LaneValue load(std::size_t source, int number, LaneValue mask);
  LaneValue spread(std::size_t source);
  int pointer(std::size_t source) const { return first_pointer_ + static_cast<int>(source); }

  LaneBuilder& b_;
  const ComputedElements& elements_;
  int first_pointer_;
  std::vector<LaneValue> spread_;  // by source; kNoLaneValue for one that is not spread
};

/// Builds a function that computes elements. Refuses bodies that lanes cannot compute, that are too long, or that read
/// too many sources.
Result<MicrokernelCode<ComputeElements>> compute_elements_function(IsaLevel, const ComputedElements&);

}  // namespace millrace
