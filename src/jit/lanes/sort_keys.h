// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "jit/lanes/element_lanes.h"

namespace millrace {

/// Keys that cost few instructions and can be converted back. They are as wide as the element, but at least 32 bits.
/// They order like LaneKeys, except that -0 and +0 have adjacent instead of equal keys, and NaNs have different keys.
struct CoarseKeys {
  DType dtype = DType::kF32;
  bool largest = false;

  int lane_bits() const { return lane_bits_of(dtype); }
};

/// The offset added to a float's key, so that -inf has the minimum key, and negative NaNs wrap to the greatest keys.
std::int64_t coarse_offset_of(DType);

/// The key of a loaded element, and the element of a key.
LaneValue coarse_key(LaneBuilder&, LaneValue element, const CoarseKeys&);
LaneValue element_of_coarse(LaneBuilder&, LaneValue key, const CoarseKeys&);

/// The form of an element in a lane while its row is sorted. Without an index, it is the element's coarse key. With an
/// index, the low 32 bits hold the index, and the bits above hold an exact key: NaN is greatest, -0 equals +0, and the
/// key is complemented if the largest elements come first. Only the upper half of a 64-bit key fits above the index;
/// the routine then sorts runs of equal upper halves by the lower halves. A 16-bit key and a short index share a lane
/// of 32 bits.
struct LaneKeys {
  DType dtype = DType::kF32;  // the elements' dtype
  bool largest = false;
  bool with_index = false;       // needs rows below 2^32
  bool has_short_index = false;  // needs rows up to kMaxShortIndices, and elements of up to 16 bits

  static constexpr std::int64_t kMaxShortIndices = 1 << 16;

  int index_bits() const { return has_short_index ? 16 : 32; }
  int lane_bits() const { return with_index && !has_short_index ? 64 : lane_bits_of(dtype); }
  /// Whether a lane holds only the upper half of a key.
  bool are_truncated() const { return with_index && size_bytes(dtype) == 8; }
  /// The keys of these elements without an index.
  CoarseKeys coarse() const { return {dtype, largest}; }
};

/// The key that is stored above an index. If `lost` is given, ORs into it the bits of the float that the key does not
/// keep.
LaneValue exact_key(LaneBuilder&, LaneValue element, const LaneKeys&, LaneValue lost);
/// Joins an exact key and an index in one lane.
LaneValue with_index(LaneBuilder&, LaneValue key, LaneValue index, const LaneKeys&);

/// The element that a key holds. Precondition: keys are not truncated.
LaneValue value_of(LaneBuilder&, LaneValue key, const LaneKeys&);
inline constexpr int kIndexBytes = 8;
/// Stores the index of each lane as i64. If `mask` is given, it must be the mask of the first `count` lanes. For lanes
/// of 64 bits, `count` is unused.
void store_indices(LaneBuilder&, int pointer, std::int32_t offset_bytes, LaneValue lanes, const LaneKeys&,
                   LaneValue mask, LaneValue count);

/// Finds out whether there is a -0 or a NaN among elements.
class SpecialFloats {
 public:
  explicit SpecialFloats(LaneBuilder& b, DType dtype)
      : b_(b), dtype_(dtype), min_(b.variable(b.constant(0))), max_magnitude_(b.variable(b.constant(0))) {}

  void add(LaneValue x);
  /// Nonzero in some lane if there was a -0 or a NaN.
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

  /// The next vector of keys. A mask is given for the last, partial vector, whose other lanes are unspecified.
  LaneValue next(LaneValue mask);
  /// Nonzero in some lane if there was a -0 or a NaN.
  LaneValue lost() { return special_ ? special_->found() : lost_; }

 private:
  LaneBuilder& b_;
  const LaneKeys& keys_;
  int row_;
  LaneValue lost_, index_ = kNoLaneValue;
  std::optional<SpecialFloats> special_;
};

}  // namespace millrace
