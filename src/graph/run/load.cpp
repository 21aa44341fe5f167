// SPDX-License-Identifier: Apache-2.0
// Loads a program onto a device: picks the variant for the device's target, loads its code, and places its constants.
#include <algorithm>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/run/phase_timer.h"
#include "graph/run/program_state.h"
#include "millrace/hal/transfer.h"

namespace millrace {
namespace {

/// The size of the staging buffer on the host through which constants move from one device to another.
constexpr std::size_t kCopyBytes = std::size_t{64} << 20;

/// Precondition: both buffers have the same size.
Status copy_bytes(Device& from_device, const Buffer& from, Device& to_device, const Buffer& to) {
  const std::size_t size = from.size_bytes();
  if (from.host_address() != nullptr) return upload(to_device, to, from.bytes());
  std::vector<std::byte> chunk(std::min(size, kCopyBytes));
  for (std::size_t done = 0; done < size; done += chunk.size()) {
    chunk.resize(std::min(size - done, kCopyBytes));
    MILLRACE_TRY(download(from_device, from, done, chunk));
    const UploadPart part{done, chunk};
    MILLRACE_TRY(upload(to_device, to, std::span(&part, 1)));
  }
  return {};
}

/// Between targets that differ only in their tune, the device's own is better.
bool is_better(const TargetSpec& target, const TargetSpec& best, const TargetSpec& runs) {
  return target.covers(best) && (!best.covers(target) || target.tune == runs.tune);
}

}  // namespace

Status name_largest(const Status& status, std::string_view what, std::span<const NamedBytes> all,
                    const SymbolValues& values) {
  std::int64_t largest_bytes = 0;
  const NamedBytes* largest = nullptr;
  for (const NamedBytes& each : all) {
    const Result<std::int64_t> bytes = each.size_bytes.evaluate(values);
    if (!bytes.ok() || *bytes <= largest_bytes) continue;
    largest = &each;
    largest_bytes = *bytes;
  }
  if (largest == nullptr) return status;
  return {status.code(),
          fmt::format("{}, the largest {} of {} bytes: {}", what, largest->name, largest_bytes, status.message())};
}

Result<std::size_t> find_target(const Device& device, std::span<const TargetSpec> targets) {
  // The device lists one target per feature set that it distinguishes, not per subset. Among the program's targets that
  // the device runs, take the one that covers the others, or the first that no other covers.
  for (const TargetSpec& runs : device.targets()) {
    auto best = targets.end();
    for (auto target = targets.begin(); target != targets.end(); ++target) {
      if (runs.covers(*target) && (best == targets.end() || is_better(*target, *best, runs))) best = target;
    }
    if (best != targets.end()) return static_cast<std::size_t>(best - targets.begin());
  }
  const auto text = [](const TargetSpec& target) { return target.to_text(); };
  return not_found(
      fmt::format("device '{}' runs {}, and the program is for {}; add a target of the device to "
                  "CompileOptions::targets, or use another device",
                  device.name(), fmt::join(device.targets() | std::views::transform(text), ", "),
                  fmt::join(targets | std::views::transform(text), ", ")));
}

Status Program::State::load(std::shared_ptr<Device> where) {
  std::vector<TargetSpec> targets;
  for (const ProgramVariant& known : *variants) targets.push_back(known.target);
  MILLRACE_TRY_ASSIGN(const std::size_t number, find_target(*where, targets));
  device = std::move(where);
  variant = &(*variants)[number];
  commands = variant->commands.get();
  report = *variant->report;
  const PhaseTimer timer(report.load);
  MILLRACE_TRY_ASSIGN(executable, device->load(variant->images));
  MILLRACE_TRY_ASSIGN(recording, device->record(*commands, executable));
  return {};
}

Status Program::State::place_constants(const std::function<Status(const Buffer&)>& fill) {
  const PhaseTimer timer(report.load);
  constants = device->constants().find(constants_id);
  if (constants != nullptr) return {};
  Result<std::shared_ptr<Buffer>> allocated = device->allocate(static_cast<std::size_t>(report.constant_bytes));
  if (!allocated.ok()) return name_largest(allocated.status(), "constants", variant->diagnostics->constants, {});
  MILLRACE_TRY(fill(**allocated));
  constants = device->constants().add(constants_id, *std::move(allocated));
  return {};
}

Status Program::State::copy_constants(const State& from) {
  constants_id = from.constants_id;
  if (device->id() == from.device->id()) {
    constants = from.constants;
    return {};
  }
  return place_constants([&](const Buffer& to) { return copy_bytes(*from.device, *from.constants, *device, to); });
}

}  // namespace millrace
