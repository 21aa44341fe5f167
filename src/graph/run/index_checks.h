// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/run/diagnostics.h"
#include "millrace/hal/device.h"

namespace millrace {

/// Describes the wrong index that a dispatch reported: "%y = gather: index 7 at [2] of operand 1, %i of i32[3], is
/// outside axis 0 of operand 0, %x of f32[5]; give -5 to 4". Reads the indices from the bindings, with the device's
/// help.
std::string describe_wrong_index(const std::vector<IndexCheck>&, const SymbolValues&,
                                 std::span<const BufferBinding> bindings, Device&);

}  // namespace millrace
