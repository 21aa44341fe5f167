// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/lane_function.h"
#include "millrace/base/dtype.h"

namespace millrace {

/// The width of the lane that holds an element: the element's width, but at least 32 bits.
inline int lane_bits_of(DType dtype) { return size_bytes(dtype) == 8 ? 64 : 32; }
/// The greatest integer of a lane.
inline std::int64_t max_lane(int lane_bits) { return std::numeric_limits<std::int64_t>::max() >> (64 - lane_bits); }

/// How a load extends an element, so that integers order in a lane as they do in their dtype.
LaneElement element_of(DType);
/// magnitude_of() is a mask of all bits of a float except the sign. infinity_of() has the bits of +infinity.
std::int64_t magnitude_of(DType);
std::int64_t infinity_of(DType);
/// The bits to invert so that elements order like signed lanes: the highest bit of unsigned integers as wide as a lane,
/// otherwise none.
std::int64_t inverted_sign_of(DType);

/// Inverts these bits; emits nothing if there are none.
LaneValue invert_bits(LaneBuilder&, LaneValue, std::int64_t bits);
/// Inverts the bits below the sign if the float is negative. This converts the bits of a float to a key, and a key back
/// to bits. Then inverts all bits if `inverts_all`.
LaneValue invert_negative(LaneBuilder&, LaneValue, DType, bool inverts_all = false);
/// Converts any value except 0 to 1.
LaneValue true_is_one(LaneBuilder&, LaneValue);
/// Widens a 16-bit float, in the lower bits of a lane, to f32. Returns other dtypes unchanged.
LaneValue widen_float(LaneBuilder&, LaneValue, DType);
/// Rounds an f32 to a 16-bit float, to nearest, ties to even; see narrow_bf16.
LaneValue narrow_float(LaneBuilder&, LaneValue, DType);

}  // namespace millrace
