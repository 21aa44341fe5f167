// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/guard_allocations.h"
#include "graph/stream/access_times.h"
#include "millrace/graph/schedule.h"

namespace millrace {
namespace {

/// Steps with equal timepoints keep their order.
void order_by_timepoint(IdVector<StepId, Step>& steps) {
  std::vector<StepId> order(steps.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = StepId(i);
  std::ranges::stable_sort(order, {}, [&](StepId id) { return steps[id].timepoint; });
  IdVector<StepId, Step> ordered;
  ordered.reserve(steps.size());
  for (StepId id : order) ordered.push_back(std::move(steps[id]));
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
