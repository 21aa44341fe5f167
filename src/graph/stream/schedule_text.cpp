// SPDX-License-Identifier: Apache-2.0
// Prints a schedule and its memory plan, for `millrace dump` and golden tests.
#include <fmt/format.h>

#include "base/byte_rows.h"
#include "millrace/base/indent.h"
#include "millrace/graph/schedule.h"

namespace millrace {

std::string_view to_text(Lifetime lifetime) {
  constexpr std::string_view kNames[] = {"external", "constant", "transient", "variable"};
  return kNames[static_cast<std::size_t>(lifetime)];
}

std::string to_text(const Schedule& schedule) {
  std::string text = fmt::format("schedule: {} steps, {} kernels, {} slab bytes, {}\n", schedule.steps.size(),
                                 schedule.kernels.size(), schedule.slab_bytes.to_text(), to_text(schedule.order));
  for (const Resource& resource : schedule.resources) {
    text += fmt::format("  {} {} {} bytes\n", to_text(resource.lifetime), resource.name, resource.size_bytes.to_text());
  }
  for (const Step& step : schedule.steps) {
    text += fmt::format("  @{} {}", step.timepoint, step.display_name());
    if (step.kernel) text += fmt::format(" kernel {} groups {}", index_of(*step.kernel), step.num_groups.to_text());
    for (const ResourceUse& use : step.uses) {
      text += fmt::format(" {}{}", use.is_written ? ">" : "<", schedule.resources[use.resource].name);
      if (!use.touched && !use.part) continue;
      text += to_text(schedule.touched_bytes(use));
    }
    text += "\n";
    if (step.control == nullptr) continue;
    for (const StepBody& body : step.control->bodies) text += indented(to_text(*body.schedule), "    ");
  }
  return text;
}

std::string memory_plan_text(const Schedule& schedule) {
  std::string text =
      fmt::format("slab of {} bytes\n    offset      bytes  lives at  resource\n", schedule.slab_bytes.to_text());
  for (const Resource& resource : schedule.resources) {
    if (resource.lifetime != Lifetime::kTransient) continue;
    text += fmt::format("{:>10} {:>10}  {:>8}  {}\n", resource.offset_bytes.to_text(), resource.size_bytes.to_text(),
                        fmt::format("@{}-@{}", resource.first_timepoint, resource.last_timepoint), resource.name);
  }
  return text;
}

}  // namespace millrace
