// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "jit/lanes/coarse_keys.h"
#include "jit/lanes/sort_microkernels.h"

namespace millrace {

/// Loads a vector, or the mask's lanes of it and 0 in the others.
LaneValue load_some(LaneBuilder&, int pointer, LaneElement, LaneValue mask);

/// The kind of keys that hold an element alone.
inline CoarseKeys coarse(const LaneKeys& keys) { return {keys.dtype, keys.largest}; }

/// The key that stands above an index. ORs to `lost`, if that is given, what keys lose of their floats.
LaneValue exact_keys(LaneBuilder&, LaneValue element, const LaneKeys&, LaneValue lost);
/// The element of such a key, if it lost nothing.
LaneValue element_of_exact(LaneBuilder&, LaneValue key, const LaneKeys&);

/// A lane with a key above an index, and the key of such a lane.
LaneValue with_index(LaneBuilder&, LaneValue key, LaneValue index, const LaneKeys&);
LaneValue key_above_index(LaneBuilder&, LaneValue lane, const LaneKeys&);

/// Tells whether there was a -0 or a NaN among elements.
class SpecialFloats {
 public:
  explicit SpecialFloats(LaneBuilder& b, DType dtype)
      : b_(b), dtype_(dtype), least_(b.variable(b.constant(0))), most_magnitude_(b.variable(b.constant(0))) {}

  void add(LaneValue x) {
    const LaneValue magnitude = b_.binary(LaneOp::kAnd, x, b_.constant(magnitude_of(dtype_)));
    b_.assign(least_, b_.binary(LaneOp::kMin, least_, x));
    b_.assign(most_magnitude_, b_.binary(LaneOp::kMax, most_magnitude_, magnitude));
  }
  /// Not 0 in some lane if there was one.
  LaneValue found() {
    // Read as signed integers, no float is below -0. Without their signs, NaNs are above infinity.
    const LaneValue has_minus_zero = b_.binary(LaneOp::kEqual, least_, b_.constant(~magnitude_of(dtype_)));
    const LaneValue has_nan = b_.binary(LaneOp::kLess, b_.constant(infinity_of(dtype_)), most_magnitude_);
    return b_.select(b_.binary(LaneOp::kEither, has_minus_zero, has_nan), b_.constant(-1), b_.constant(0));
  }

 private:
  LaneBuilder& b_;
  DType dtype_;
  LaneValue least_, most_magnitude_;
};

/// Makes the keys of a row, vector by vector.
class RowKeys {
 public:
  RowKeys(LaneBuilder& b, const LaneKeys& keys, int row, int first)
      : b_(b), keys_(keys), row_(row), lost_(b.variable(b.constant(0))) {
    if (is_float(keys.dtype) && !keys.with_index) special_.emplace(b, keys.dtype);
    if (keys.with_index) index_ = b.variable(b.binary(LaneOp::kAdd, b.numbers(), b.broadcast(first)));
  }

  /// The next keys, or the mask's lanes of the last ones.
  LaneValue next(LaneValue mask) {
    const LaneElement element = element_of(keys_.dtype);
    const LaneValue x = load_some(b_, row_, element, mask);
    b_.advance(row_, b_.num_lanes() * element.bytes);
    if (special_) special_->add(x);
    if (!keys_.with_index) return coarse_key(b_, x, coarse(keys_));
    const LaneValue key = with_index(b_, exact_keys(b_, x, keys_, lost_), index_, keys_);
    b_.assign(index_, b_.binary(LaneOp::kAdd, index_, b_.constant(b_.num_lanes())));
    return key;
  }
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
