// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "graph/stream/sample_sizes.h"

namespace millrace {

/// Finds orders of the steps that are likely to need little memory. Each is a list of current step indices; the first
/// one is the current order.
std::vector<std::vector<std::uint32_t>> find_frugal_orders(const Schedule&, const SampleSizes&);

/// Puts the steps into this order. Neighbours that need no barrier share a timepoint if that does not raise the largest
/// live set of any sample.
void place_in_order(Schedule&, const std::vector<std::uint32_t>& order, const SampleSizes&);

/// Gives each step a timepoint of its own, in the current order.
void place_strictly(Schedule&);

}  // namespace millrace
