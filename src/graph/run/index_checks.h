// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/run/diagnostics.h"
#include "millrace/hal/device.h"

namespace millrace {

/// What was wrong, for a dispatch that reported it: "%y = gather: index 7 at [2] of operand 1, %i of i32[3], is outside
/// of axis 0 of operand 0, %x of f32[5]; give -5 to 4".
/// Reads the bindings, with the device's help.
std::string describe_wrong_index(const std::vector<IndexCheck>&, const SymbolValues&,
                                 std::span<const BufferBinding> bindings, Device&);

}  // namespace millrace
