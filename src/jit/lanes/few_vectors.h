// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/sort_microkernels.h"

namespace millrace {

inline constexpr int kIndexBytes = 8;

/// The masks of a few vectors, of which `count` lanes are in use. The first ones are whole: half of them at least.
class FewMasks {
 public:
  FewMasks(LaneBuilder& b, int count, int num_whole) : b_(b), count_(b.broadcast(count)), num_whole_(num_whole) {}

  LaneValue of(int vector) const {
    if (vector < num_whole_) return kNoLaneValue;
    const LaneValue position = b_.binary(LaneOp::kAdd, b_.numbers(), b_.constant(vector * b_.num_lanes()));
    return b_.binary(LaneOp::kLess, position, count_);
  }
  /// How many lanes are in use from a vector on, where store_indices reads that: emitters do not leave out what is
  /// never read.
  LaneValue count_from(int vector) const {
    if (b_.lane_bits() == 64 || vector < num_whole_) return kNoLaneValue;
    return b_.binary(LaneOp::kAdd, count_, b_.constant(-vector * b_.num_lanes()));
  }
  LaneValue load(int pointer, std::int32_t offset_bytes, LaneElement element, int vector, LaneValue others) const {
    const LaneValue mask = of(vector);
    return mask == kNoLaneValue ? b_.load(pointer, offset_bytes, element)
                                : b_.load_masked(pointer, offset_bytes, element, mask, others);
  }

 private:
  LaneBuilder& b_;
  LaneValue count_;
  int num_whole_;
};

/// The element of a key that holds it.
LaneValue value_of(LaneBuilder&, LaneValue key, const LaneKeys&);
/// Stores the index of each lane as i64. `mask`, if that is given, has the first `count` lanes; lanes of 64 bits do not
/// read `count`.
void store_indices(LaneBuilder&, int pointer, std::int32_t offset_bytes, LaneValue lanes, const LaneKeys&,
                   LaneValue mask, LaneValue count);

/// Stores the keys of vector `i`, or the results that they stand for.
void store_key(LaneBuilder&, int pointer, int i, LaneValue key, const FewMasks&);
void store_result(LaneBuilder&, int pointer, int i, LaneValue key, const LaneKeys&, SortResult, const FewMasks&);

}  // namespace millrace
