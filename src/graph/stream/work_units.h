// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/graph/schedule.h"

namespace millrace {

/// Steps that stay together when a schedule is reordered: a region's kernels, or a copy.
struct WorkUnit {
  std::uint32_t first_step = 0, num_steps = 0;
  std::vector<std::uint32_t> needs, readers;  // units that must run before it, and after it
};

/// The units in the schedule's order. Units that touch the same bytes keep their order if one of them writes; all bytes
/// of a variable count as the same. O(n log n) in the number of uses, with two exceptions: each read of symbolic bytes
/// is compared with all writes of its resource, and each write to bytes touched before with all earlier accesses.
std::vector<WorkUnit> find_work_units(const Schedule&);

}  // namespace millrace
