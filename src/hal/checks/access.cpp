// SPDX-License-Identifier: Apache-2.0
// Lists the memory that each command reads and writes, for validation and drivers.
#include "hal/checks/access.h"

#include <fmt/format.h>

namespace millrace {
namespace {

RangeAccess whole(const BufferRange& range, RangeAccess::Role role) {
  return {.range = range, .touched = range, .role = role, .writes = role == RangeAccess::Role::kDestination};
}

struct AccessesOf {
  const CommandList& list;

  std::vector<RangeAccess> operator()(const FillCommand& fill) const {
    return {whole(fill.destination, RangeAccess::Role::kDestination)};
  }
  template <class Transfer>
    requires requires(const Transfer& transfer) { transfer.source; }
  std::vector<RangeAccess> operator()(const Transfer& copy) const {
    return {whole(copy.source, RangeAccess::Role::kSource), whole(copy.destination, RangeAccess::Role::kDestination)};
  }
  std::vector<RangeAccess> operator()(const DispatchCommand& dispatch) const {
    static const std::vector<bool> kUnknown;
    const auto& is_written =
        list.kernels.contains(dispatch.kernel) ? list.kernels[dispatch.kernel].buffer_is_written : kUnknown;
    std::vector<RangeAccess> accesses;
    for (std::uint32_t i = 0; i < dispatch.buffers.size(); ++i) {
      accesses.push_back(
          {.range = dispatch.buffers[i],
           .touched = i < dispatch.touched.size() ? dispatch.touched[i] : TouchedRange(dispatch.buffers[i]),
           .role = RangeAccess::Role::kArgument,
           .argument = i,
           .writes = i < is_written.size() && is_written[i]});
    }
    return accesses;
  }
  std::vector<RangeAccess> operator()(const BarrierCommand&) const { return {}; }
  template <class Control>
    requires requires(const Control& control) { control.condition; }
  std::vector<RangeAccess> operator()(const Control& control) const {
    return {whole(control.condition, RangeAccess::Role::kCondition)};
  }
};

}  // namespace

std::vector<RangeAccess> accesses_of(const CommandList& list, const Command& command) {
  return std::visit(AccessesOf{list}, command);
}

std::vector<RangeAccess> all_accesses_of(const CommandList& list, const Command& command) {
  std::vector<RangeAccess> accesses = accesses_of(list, command);
  for (const CommandBlock* block : blocks_of(command)) {
    for (const Command& inner : block->commands) {
      for (RangeAccess& access : all_accesses_of(list, inner)) accesses.push_back(std::move(access));
    }
  }
  return accesses;
}

std::string to_text(const RangeAccess& access) {
  switch (access.role) {
    case RangeAccess::Role::kCondition:
      return "condition";
    case RangeAccess::Role::kSource:
      return "source";
    case RangeAccess::Role::kDestination:
      return "destination";
    case RangeAccess::Role::kArgument:
      break;
  }
  return fmt::format("buffer {}", access.argument);
}

}  // namespace millrace
