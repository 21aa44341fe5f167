// SPDX-License-Identifier: Apache-2.0
// A program's way onto a device: the variant for the device's target, its code and its constants.
#include <cstring>

#include <fmt/format.h>

#include "graph/program/phase_timer.h"
#include "graph/program/program_state.h"

namespace millrace {
namespace {

Result<std::shared_ptr<Buffer>> make_constants(Device& device, const Schedule& schedule) {
  MILLRACE_TRY_ASSIGN(std::shared_ptr<Buffer> constants,
                      device.allocate(static_cast<std::size_t>(schedule.constant_bytes)));
  for (const Resource& resource : schedule.resources) {
    if (resource.lifetime != Lifetime::kConstant || resource.constant->empty()) continue;
    std::memcpy(static_cast<std::byte*>(constants->data()) + resource.offset_bytes.constant(),
                resource.constant->data(), resource.constant->size());
  }
  return constants;
}

}  // namespace

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
