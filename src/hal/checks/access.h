// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "millrace/hal/command_list.h"

namespace millrace {

/// One range that a command touches. What validation, hazards and drivers know of a command's memory is this list.
struct RangeAccess {
  enum class Role : std::uint8_t { kSource, kDestination, kArgument };
  BufferRange range;
  Role role = Role::kSource;
  std::uint32_t argument = 0;  // of a dispatch
  bool writes = false;
};

/// In the order in which the command names them. A dispatch of an unknown kernel is taken to read only.
std::vector<RangeAccess> accesses_of(const CommandList&, const Command&);

/// "source", "destination", "buffer 2".
std::string to_text(const RangeAccess&);

}  // namespace millrace
