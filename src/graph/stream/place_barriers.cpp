// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/guard_allocations.h"
#include "millrace/graph/schedule.h"

namespace millrace {

// A step's timepoint is one after the last step that it must see finished: the last writer of what it reads, and the
// last writer and readers of what it writes. Steps are then ordered by timepoint; equal ones keep their order.
Status place_barriers(Schedule& schedule) try {
  const InsideGuard inside;
  struct Last {
    std::int64_t write = -1, read = -1;
  };
  IdVector<ResourceId, Last> last;
  last.resize(schedule.resources.size());
  for (Step& step : schedule.steps) {
    std::int64_t after = -1;
    for (std::size_t i = 0; i < step.ranges.size(); ++i) {
      const Last& seen = last[step.ranges[i].resource];
      after = std::max({after, seen.write, step.writes[i] ? seen.read : -1});
    }
    step.timepoint = static_cast<std::uint32_t>(after + 1);
    for (std::size_t i = 0; i < step.ranges.size(); ++i) {
      Last& seen = last[step.ranges[i].resource];
      std::int64_t& at = step.writes[i] ? seen.write : seen.read;
      at = std::max<std::int64_t>(at, step.timepoint);
    }
  }
  std::vector<std::vector<Step>> by_timepoint;
  for (Step& step : schedule.steps) {
    if (by_timepoint.size() <= step.timepoint) by_timepoint.resize(step.timepoint + 1);
    by_timepoint[step.timepoint].push_back(std::move(step));
  }
  schedule.steps = {};
  for (std::vector<Step>& steps : by_timepoint) {
    for (Step& step : steps) schedule.steps.push_back(std::move(step));
  }
  return {};
} catch (const std::bad_alloc&) {
  return out_of_memory_outside_guards("barriers");
}

}  // namespace millrace
