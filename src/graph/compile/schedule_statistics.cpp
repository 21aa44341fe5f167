// SPDX-License-Identifier: Apache-2.0
// Measures a schedule for `millrace explain`, benchmarks and tests: commands, waits, barriers, memory.
#include "millrace/graph/schedule_statistics.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/compile/find_slab_plan.h"

namespace millrace {
namespace {

/// Counts the steps that must wait, because they touch what an earlier step writes, or write what an earlier step
/// touches. A step that merely follows a barrier, as in the strict order, does not count.
std::size_t count_waits(const Schedule& schedule) {
  Schedule earliest;
  earliest.resources = schedule.resources;
  earliest.parts = schedule.parts;
  earliest.steps = schedule.steps;
  std::ranges::sort(earliest.steps, {}, &Step::number);
  if (!place_barriers(earliest).ok()) return 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(earliest.steps, [](const Step& step) { return step.timepoint > 0; }));
}

/// The aligned sizes of the transients; empty if a size cannot be computed.
std::optional<std::vector<std::int64_t>> transient_sizes(const Schedule& schedule, const SymbolValues& symbols) {
  std::vector<std::int64_t> sizes;
  for (const Resource& resource : schedule.resources) {
    if (resource.lifetime != Lifetime::kTransient) continue;
    const Result<std::int64_t> bytes = resource.size_bytes.evaluate(symbols);
    if (!bytes.ok()) return {};
    sizes.push_back(align_slab_bytes(*bytes));
  }
  return sizes;
}

std::int64_t find_lower_bound(const Schedule& schedule, const std::vector<std::int64_t>& sizes) {
  std::vector<PackedTransient> transients;
  for (const Resource& resource : schedule.resources) {
    if (resource.lifetime != Lifetime::kTransient) continue;
    const auto number = static_cast<std::uint32_t>(transients.size());
    transients.push_back({sizes[number], {resource.first_timepoint, resource.last_timepoint}, number});
  }
  return max_live_bytes(transients);
}

/// The bytes of the slab after a session has placed the transients.
std::optional<std::int64_t> find_peak(const Schedule& schedule, const std::vector<std::int64_t>& sizes) {
  const std::shared_ptr<const SlabPlan> plan = find_slab_plan(schedule);
  if (plan == nullptr) return schedule.slab_bytes.constant();
  const Result<std::int64_t> placed = SlabPlacement(*plan).place(sizes);
  return placed.ok() ? std::optional(*placed) : std::nullopt;
}

std::string number_text(const std::optional<std::int64_t>& number) { return number ? fmt::to_string(*number) : "null"; }

}  // namespace

namespace {
/// Adds a body's commands once, however often the body runs. Its memory is already counted as a transient of the step
/// that runs it.
void add_body(ScheduleStatistics& found, const ScheduleStatistics& body) {
  found.num_dispatches += body.num_dispatches;
  found.num_copies += body.num_copies;
  found.num_barriers += body.num_barriers;
  found.num_waits += body.num_waits;
}
}  // namespace

ScheduleStatistics measure_schedule(const Schedule& schedule, const SymbolValues& symbols) {
  ScheduleStatistics found{.order = schedule.order, .constant_bytes = schedule.constant_bytes};
  const Step* before = nullptr;
  for (const Step& step : schedule.steps) {
    for (const StepBody& body : step.control != nullptr ? step.control->bodies : std::vector<StepBody>()) {
      add_body(found, measure_schedule(*body.schedule, symbols));
    }
    found.num_dispatches += step.kernel ? 1 : 0;
    found.num_copies += step.copy_reason.empty() ? 0 : 1;
    found.num_barriers += before != nullptr && before->timepoint != step.timepoint ? 1 : 0;
    before = &step;
  }
  for (const Resource& resource : schedule.resources) {
    if (resource.prepared) found.prepared_bytes += resource.size_bytes.constant();
  }
  found.num_waits += count_waits(schedule);
  if (const auto sizes = transient_sizes(schedule, symbols)) {
    found.peak_bytes = find_peak(schedule, *sizes);
    found.lower_bound_bytes = find_lower_bound(schedule, *sizes);
  }
  return found;
}

std::string to_json(const ScheduleStatistics& statistics) {
  return fmt::format(R"({{"order": "{}", "num_dispatches": {}, "num_copies": {}, "num_waits": {}, "num_barriers": {}, )"
                     R"("peak_bytes": {}, "lower_bound_bytes": {}, "constant_bytes": {}, "prepared_bytes": {}}})",
                     to_text(statistics.order), statistics.num_dispatches, statistics.num_copies, statistics.num_waits,
                     statistics.num_barriers, number_text(statistics.peak_bytes),
                     number_text(statistics.lower_bound_bytes), statistics.constant_bytes, statistics.prepared_bytes);
}

}  // namespace millrace
