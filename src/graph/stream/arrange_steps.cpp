// SPDX-License-Identifier: Apache-2.0
// Orders the steps of a schedule for low memory or for concurrency, then packs the transients.
#include <utility>

#include "base/guard_allocations.h"
#include "graph/stream/delay_steps.h"
#include "graph/stream/min_peak.h"
#include "millrace/graph/schedule.h"

namespace millrace {
namespace {

/// Whether `a` needs less memory than `b`: compares the sizes of the slabs if both are constant, otherwise the live
/// bytes in the samples.
bool needs_less(const Schedule& a, const Schedule& b, const SampleSizes& sizes) {
  if (a.slab_bytes.is_constant() && b.slab_bytes.is_constant())
    return a.slab_bytes.constant() < b.slab_bytes.constant();
  const SampleBytes a_bytes = max_live_bytes(a, sizes), b_bytes = max_live_bytes(b, sizes);
  return is_at_most(a_bytes, b_bytes) && !is_at_most(b_bytes, a_bytes);
}

Status take_min_peak(Schedule& schedule) {
  const SampleSizes sizes(schedule);
  auto kernels = std::exchange(schedule.kernels, {});  // large, and shared by all candidates
  Schedule strict = schedule;
  place_strictly(strict);
  MILLRACE_TRY(pack_transients(strict));
  Schedule best = strict;
  bool is_first = true;
  for (const std::vector<std::uint32_t>& order : find_frugal_orders(schedule, sizes)) {
    Schedule candidate = schedule;
    place_in_order(candidate, order, sizes);
    MILLRACE_TRY(pack_transients(candidate));
    // The first candidate has the order of `strict`, but fewer barriers. So it wins if both need the same memory, and
    // loses only if it happens to pack worse.
    const bool is_better = is_first ? !needs_less(best, candidate, sizes) : needs_less(candidate, best, sizes);
    if (is_better) best = std::move(candidate);
    is_first = false;
  }
  schedule = std::move(best);
  schedule.kernels = std::move(kernels);
  return {};
}

}  // namespace

Status arrange_steps(Schedule& schedule, ScheduleOrder order) {
  return guard_allocations([&]() -> Status {
    schedule.order = order;
    switch (order) {
      case ScheduleOrder::kStrict:
        place_strictly(schedule);
        break;
      case ScheduleOrder::kMinPeak:
        return take_min_peak(schedule);
      case ScheduleOrder::kMaxConcurrency:
        MILLRACE_TRY(place_barriers(schedule));
        delay_steps(schedule, SampleSizes(schedule));
        break;
    }
    return pack_transients(schedule);
  });
}

}  // namespace millrace
