// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "jit/lanes/element_lanes.h"

namespace millrace {

/// Keys that take few instructions, keep an element's width, at least 32 bits, and give the element back. They order
/// like LaneKeys, except that -0 is next to +0 instead of equal, and NaNs differ from each other.
struct CoarseKeys {
  DType dtype = DType::kF32;
  bool largest = false;

  int lane_bits() const { return lane_bits_of(dtype); }
};

/// What is added to a float's key, so that -inf has the minimum key and the NaNs with a sign wrap to the greatest ones.
std::int64_t coarse_offset_of(DType);

/// The key of a loaded element, and the element of a key.
LaneValue coarse_key(LaneBuilder&, LaneValue element, const CoarseKeys&);
LaneValue element_of_coarse(LaneBuilder&, LaneValue key, const CoarseKeys&);

/// What one lane holds of an element while its row is sorted: its coarse key, or above the element's index in 32 bits a
/// key that orders like the sort: NaN is greatest, -0 equals +0, complemented if the largest come first. Above an
/// index, a key of 64 bits is halved: the upper half is there, and the routine sorts runs of equal halves by the lower
/// ones. Keys of 16 bits share a lane of 32 bits with the index if that is short.
struct LaneKeys {
  DType dtype = DType::kF32;  // of the elements
  bool largest = false;
  bool with_index = false;       // needs rows below 2^32
  bool has_short_index = false;  // needs rows up to kMaxShortIndices, and elements of up to 16 bits

  static constexpr std::int64_t kMaxShortIndices = 1 << 16;

  int index_bits() const { return has_short_index ? 16 : 32; }
  int lane_bits() const { return with_index && !has_short_index ? 64 : lane_bits_of(dtype); }
  bool are_halved() const { return with_index && size_bytes(dtype) == 8; }
  /// The kind of keys that hold an element alone.
  CoarseKeys coarse() const { return {dtype, largest}; }
};

/// The key that stands above an index. ORs to `lost`, if that is given, what keys lose of their floats.
LaneValue exact_key(LaneBuilder&, LaneValue element, const LaneKeys&, LaneValue lost);
/// A lane with such a key above an index.
LaneValue with_index(LaneBuilder&, LaneValue key, LaneValue index, const LaneKeys&);

/// The element of a key that holds it.
LaneValue value_of(LaneBuilder&, LaneValue key, const LaneKeys&);
inline constexpr int kIndexBytes = 8;
/// Stores the index of each lane as i64. `mask`, if that is given, has the first `count` lanes; lanes of 64 bits do not
/// read `count`.
void store_indices(LaneBuilder&, int pointer, std::int32_t offset_bytes, LaneValue lanes, const LaneKeys&,
                   LaneValue mask, LaneValue count);

/// Tells whether there was a -0 or a NaN among elements.
class SpecialFloats {
 public:
  explicit SpecialFloats(LaneBuilder& b, DType dtype)
      : b_(b), dtype_(dtype), min_(b.variable(b.constant(0))), max_magnitude_(b.variable(b.constant(0))) {}

  void add(LaneValue x);
  /// Not 0 in some lane if there was one.
  LaneValue found();

 private:
  LaneBuilder& b_;
  DType dtype_;
  LaneValue min_, max_magnitude_;
};

/// Makes the keys of a row, vector by vector.
class RowKeys {
 public:
  RowKeys(LaneBuilder&, const LaneKeys&, int row, int first);

  /// The next keys, or the mask's lanes of the last ones.
  LaneValue next(LaneValue mask);
  /// Not 0 in some lane if there was a -0 or a NaN.
  LaneValue lost() { return special_ ? special_->found() : lost_; }

 private:
  LaneBuilder& b_;
  const LaneKeys& keys_;
  int row_;
  LaneValue lost_, index_ = kNoLaneValue;
  std::optional<SpecialFloats> special_;
};

}  // namespace millrace
