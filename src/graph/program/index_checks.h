// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "millrace/graph/binding.h"
#include "millrace/graph/schedule.h"
#include "millrace/hal/command_list.h"
#include "millrace/hal/device.h"

namespace millrace {

/// A gather or a scatter, whose kernel reports that an index was wrong, but not which.
struct IndexCheck {
  std::string node;           // "%y = gather"
  std::string indices, from;  // the operands: "%i", "%x"
  TensorType indices_type, from_type;
  std::size_t axis = 0;  // of `from`
  /// Where the indices are to read after a run: a binding of the session, or a constant. Neither: in the slab, or
  /// nowhere.
  std::optional<std::size_t> binding = {};
  std::shared_ptr<const std::vector<std::byte>> constant = {};
};

/// For each command: what its kernel may report. Nothing but for dispatches of regions that gather or scatter.
std::vector<std::vector<IndexCheck>> find_index_checks(const DispatchGraph&, const Schedule&, const CommandList&);

/// What was wrong, for a dispatch that reported it: "%y = gather: index 7 at [2] of operand 1, %i of i32[3], is outside
/// of axis 0 of operand 0, %x of f32[5]; give -5 to 4".
/// Reads the bindings, with the device's help.
std::string describe_wrong_index(const std::vector<IndexCheck>&, const SymbolValues&,
                                 std::span<const BufferBinding> bindings, Device&);

}  // namespace millrace
