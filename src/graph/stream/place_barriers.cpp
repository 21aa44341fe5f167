// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <vector>

#include "base/guard_allocations.h"
#include "graph/stream/access_times.h"
#include "millrace/graph/schedule.h"

namespace millrace {
namespace {

/// A counting sort: a timepoint is less than the number of steps. Equal ones keep their order.
void order_by_timepoint(IdVector<StepId, Step>& steps) {
  std::vector<std::size_t> place(steps.size() + 1);  // of the next step at each timepoint
  for (const Step& step : steps) ++place[step.timepoint + 1];
  std::partial_sum(place.begin(), place.end(), place.begin());
  IdVector<StepId, Step> ordered;
  ordered.resize(steps.size());
  for (Step& step : steps) ordered[StepId(place[step.timepoint]++)] = std::move(step);
  steps = std::move(ordered);
}

}  // namespace

// A step's timepoint is one after the last step that it must see finished: the last writer of the bytes that it reads,
// and the last writer and readers of those that it writes. Steps are then ordered by timepoint; equal ones keep their
// order.
Status place_barriers(Schedule& schedule) try {
  const InsideGuard inside;
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
  order_by_timepoint(schedule.steps);
  return {};
} catch (const std::bad_alloc&) {
  return out_of_memory_outside_guards("barriers");
}

}  // namespace millrace
