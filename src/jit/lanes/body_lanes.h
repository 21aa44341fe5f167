// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "jit/lanes/lane_function.h"
#include "millrace/base/status.h"
#include "millrace/jit/body.h"

namespace millrace {

/// The width of the lanes in which a body computes: 64 bits if one of its values or loads has 64 bits, otherwise 32.
/// Refuses bodies that mix 64-bit values with narrower floats.
Result<int> lane_bits_of(const Body&);

/// Appends a body that has one yield, given the values of its loads. Lanes hold the bits of floats, integers extended
/// from their dtype, and bools as 0 and 1. Rounds where the body rounds, so a mul and an add are not fused. Refuses an
/// op without a lane instruction.
Result<LaneValue> append_body(LaneBuilder&, const Body&, std::span<const LaneValue> loads);

/// widen_element() converts a loaded element to the form that append_body expects. narrow_element() converts a yield to
/// the form of a loaded element (element_of).
LaneValue widen_element(LaneBuilder&, LaneValue, DType stored);
LaneValue narrow_element(LaneBuilder&, LaneValue, DType stored);

}  // namespace millrace
