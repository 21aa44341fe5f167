// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/graph/schedule.h"

namespace millrace {
namespace {

std::string_view name_of(Lifetime lifetime) {
  constexpr std::string_view kNames[] = {"external", "constant", "transient"};
  return kNames[static_cast<std::size_t>(lifetime)];
}

}  // namespace

std::string to_text(const Schedule& schedule) {
  std::string text = fmt::format("schedule: {} steps, {} kernels, {} slab bytes\n", schedule.steps.size(),
                                 schedule.kernels.size(), schedule.slab_bytes.to_text());
  for (const Resource& resource : schedule.resources) {
    text += fmt::format("  {} {} {} bytes\n", name_of(resource.lifetime), resource.name, resource.size_bytes.to_text());
  }
  for (const Step& step : schedule.steps) {
    text += fmt::format("  @{} {}", step.timepoint, step.name);
    if (step.kernel) text += fmt::format(" kernel {} groups {}", index_of(*step.kernel), step.num_groups.to_text());
    for (std::size_t i = 0; i < step.ranges.size(); ++i) {
      text += fmt::format(" {}{}", step.writes[i] ? ">" : "<", schedule.resources[step.ranges[i].resource].name);
    }
    text += "\n";
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

// A broken schedule is our own error.
Status verify(const Schedule& schedule) try {
  const InsideGuard inside;
  std::string problems;
  const auto problem = [&](const std::string& line) { problems += (problems.empty() ? "" : "\n") + line; };
  for (const Step& step : schedule.steps) {
    if (step.ranges.size() != step.writes.size()) {
      problem(fmt::format("step {}: {} ranges and {} accesses, expected as many; say of each whether it is written",
                          step.name, step.ranges.size(), step.writes.size()));
      continue;
    }
    if (!step.kernel && step.ranges.size() != 2) {
      problem(fmt::format("step {}: a copy with {} ranges, expected 2; name source and destination", step.name,
                          step.ranges.size()));
    }
    for (std::size_t i = 0; i < step.ranges.size(); ++i) {
      if (!schedule.resources.contains(step.ranges[i].resource)) {
        problem(fmt::format("step {}: range {} is of resource {}, expected less than {}; name one of the schedule",
                            step.name, i, index_of(step.ranges[i].resource), schedule.resources.size()));
        continue;
      }
      const Resource& resource = schedule.resources[step.ranges[i].resource];
      const bool is_writable = resource.lifetime == Lifetime::kTransient || resource.output.has_value();
      if (step.writes[i] && !is_writable) {
        problem(fmt::format("step {}: writes {}, which is {} and only read; write a transient or an output", step.name,
                            resource.name, name_of(resource.lifetime)));
      }
    }
    if (!step.kernel) continue;
    if (!schedule.kernels.contains(*step.kernel)) {
      problem(fmt::format("step {}: kernel {}, expected less than {}; name one of the table", step.name,
                          index_of(*step.kernel), schedule.kernels.size()));
    } else if (const KernelInfo& info = schedule.kernels[*step.kernel].info;
               info.num_buffers != step.ranges.size() || info.num_sizes != step.sizes.size()) {
      problem(fmt::format("step {}: {} buffers and {} sizes, expected {} and {}; pass what the kernel takes", step.name,
                          step.ranges.size(), step.sizes.size(), info.num_buffers, info.num_sizes));
    }
  }
  return problems.empty() ? Status() : internal_error(problems);
} catch (const std::bad_alloc&) {
  return out_of_memory_outside_guards("schedule");
}

}  // namespace millrace
