// SPDX-License-Identifier: Apache-2.0
// Gives each step its earliest timepoint, from the bytes that earlier steps read and write.
#include <algorithm>

#include "base/guard_allocations.h"
#include "graph/stream/access_times.h"
#include "graph/stream/delay_steps.h"
#include "millrace/graph/schedule.h"

namespace millrace {

// A step's timepoint is one after the last step that must have finished: the last writer of the bytes that it reads,
// and the last writer and readers of the bytes that it writes. Steps are then sorted by timepoint; equal ones keep
// their order.
Status place_barriers(Schedule& schedule) {
  return guard_allocations([&]() -> Status {
    IdVector<ResourceId, AccessTimes> times;
    times.resize(schedule.resources.size());
    const auto is_computed = [&](const ResourceUse& use) { return schedule.resources[use.resource].is_computed(); };
    for (Step& step : schedule.steps) {
      std::int64_t after = -1;
      for (const ResourceUse& use : step.uses) {
        if (!is_computed(use)) continue;
        after = std::max(after, times[use.resource].last_conflict(schedule.touched_bytes(use), use.is_written));
      }
      step.timepoint = static_cast<std::uint32_t>(after + 1);
      for (const ResourceUse& use : step.uses) {
        if (is_computed(use)) times[use.resource].add(schedule.touched_bytes(use), use.is_written, step.timepoint);
      }
    }
    order_by_timepoint(schedule);
    return {};
  });
}

}  // namespace millrace
