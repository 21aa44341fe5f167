// SPDX-License-Identifier: Apache-2.0
// A program's way onto a device: the variant for the device's target, its code and its constants.
#include <algorithm>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/program/phase_timer.h"
#include "graph/program/program_state.h"
#include "millrace/hal/transfer.h"

namespace millrace {
namespace {

Result<std::shared_ptr<Buffer>> make_constants(Device& device, const Schedule& schedule) {
  Result<std::shared_ptr<Buffer>> allocated = device.allocate(static_cast<std::size_t>(schedule.constant_bytes));
  if (!allocated.ok()) return name_largest(allocated.status(), schedule, Lifetime::kConstant, {});
  std::vector<UploadPart> parts;
  for (const Resource& resource : schedule.resources) {
    if (resource.lifetime != Lifetime::kConstant) continue;
    parts.push_back({static_cast<std::size_t>(resource.offset_bytes.constant()), *resource.constant});
  }
  MILLRACE_TRY(upload(device, **allocated, parts));
  return *std::move(allocated);
}

}  // namespace

Status name_largest(const Status& status, const Schedule& schedule, Lifetime lifetime, const SymbolValues& values) {
  std::int64_t largest_bytes = 0;
  const Resource* largest = nullptr;
  for (const Resource& resource : schedule.resources) {
    if (resource.lifetime != lifetime) continue;
    const Result<std::int64_t> bytes = resource.size_bytes.evaluate(values);
    if (!bytes.ok() || *bytes <= largest_bytes) continue;
    largest = &resource;
    largest_bytes = *bytes;
  }
  if (largest == nullptr) return status;
  const std::string_view what = lifetime == Lifetime::kConstant ? "constants" : "intermediate values";
  return {status.code(),
          fmt::format("{}, the largest {} of {} bytes: {}", what, largest->name, largest_bytes, status.message())};
}

Result<std::size_t> find_target(const Device& device, std::span<const TargetSpec> targets) {
  for (const TargetSpec& runs : device.targets()) {
    const auto found = std::ranges::find(targets, runs);
    if (found != targets.end()) return static_cast<std::size_t>(found - targets.begin());
  }
  const auto text = [](const TargetSpec& target) { return target.to_text(); };
  return not_found(
      fmt::format("device '{}' runs {}, and the program is for {}; name a target of the device's among "
                  "CompileOptions::targets, or take another device",
                  device.name(), fmt::join(device.targets() | std::views::transform(text), ", "),
                  fmt::join(targets | std::views::transform(text), ", ")));
}

Status Program::State::load(std::shared_ptr<Device> where) {
  std::vector<TargetSpec> targets;
  for (const ProgramVariant& known : *variants) targets.push_back(known.target);
  MILLRACE_TRY_ASSIGN(const std::size_t number, find_target(*where, targets));
  device = std::move(where);
  variant = &(*variants)[number];
  report = lowered().report;
  const PhaseTimer timer(report.load);
  MILLRACE_TRY_ASSIGN(executable, device->load(variant->images));
  MILLRACE_TRY_ASSIGN(recording, device->record(lowered().commands, executable));
  MILLRACE_TRY_ASSIGN(constants, make_constants(*device, lowered().schedule));
  index_checks = find_index_checks(lowered().dispatch, lowered().schedule, lowered().commands);
  return {};
}

}  // namespace millrace
