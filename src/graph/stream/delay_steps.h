// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/stream/sample_sizes.h"

namespace millrace {

/// Moves steps to later timepoints if their results then need memory for a shorter time. For example, a step that
/// prepares an operand moves right before the step that reads it. Adds no timepoint, and never raises the largest live
/// set of any sample. Precondition: place_barriers has run. Leaves the steps ordered by timepoint. O(n log n) in uses.
void delay_steps(Schedule&, const SampleSizes&);

/// Sorts the steps by timepoint; equal ones keep their order. O(steps).
void order_by_timepoint(Schedule&);

}  // namespace millrace
