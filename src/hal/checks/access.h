// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "millrace/hal/command_list.h"

namespace millrace {

/// One range that a command touches. Validation, the hazard check and drivers see a command's memory only as a list of
/// these.
struct RangeAccess {
  enum class Role : std::uint8_t { kSource, kDestination, kArgument, kCondition };
  BufferRange range;     // the range that the command names
  TouchedRange touched;  // the bytes that the command touches within the range
  Role role = Role::kSource;
  std::uint32_t argument = 0;  // for a dispatch: the index of the buffer
  bool writes = false;
};

/// Inputs and constants are only read.
constexpr bool is_writable(BindingKind kind) { return kind != BindingKind::kInput && kind != BindingKind::kConstant; }

/// Lists the ranges in the order in which the command names them. A dispatch of an unknown kernel is assumed to read
/// only.
std::vector<RangeAccess> accesses_of(const CommandList&, const Command&);
/// Like accesses_of(), and also lists the accesses of all commands in the command's blocks.
std::vector<RangeAccess> all_accesses_of(const CommandList&, const Command&);

/// "source", "destination", "buffer 2", "condition".
std::string to_text(const RangeAccess&);

}  // namespace millrace
