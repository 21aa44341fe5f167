// SPDX-License-Identifier: Apache-2.0
// A program's way onto a device: the variant for the device's target, its code and its constants.
#include <cstring>

#include <fmt/format.h>

#include "graph/program/phase_timer.h"
#include "graph/program/program_state.h"

namespace millrace {
namespace {

Result<std::shared_ptr<Buffer>> make_constants(Device& device, const Schedule& schedule) {
  Result<std::shared_ptr<Buffer>> allocated = device.allocate(static_cast<std::size_t>(schedule.constant_bytes));
  if (!allocated.ok()) return name_largest(allocated.status(), schedule, Lifetime::kConstant, {});
  std::shared_ptr<Buffer> constants = *std::move(allocated);
  for (const Resource& resource : schedule.resources) {
    if (resource.lifetime != Lifetime::kConstant || resource.constant->empty()) continue;
    std::memcpy(static_cast<std::byte*>(constants->data()) + resource.offset_bytes.constant(),
                resource.constant->data(), resource.constant->size());
  }
  return constants;
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
  std::string known;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == device.target()) return i;
    known += fmt::format("{}{}", i == 0 ? "" : ", ", targets[i].to_text());
  }
  return not_found(
      fmt::format("device '{}' runs {}, and the program is for {}; name the device's target among "
                  "CompileOptions::targets, or take another device",
                  device.name(), device.target().to_text(), known));
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
  MILLRACE_TRY_ASSIGN(constants, make_constants(*device, lowered().schedule));
  index_checks = find_index_checks(lowered().dispatch, lowered().schedule, lowered().commands);
  return {};
}

}  // namespace millrace
