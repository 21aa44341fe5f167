// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "millrace/hal/command_list.h"

namespace millrace {

/// Whether two ranges of one binding may share a byte: exact for constants; for symbolic ranges true unless every
/// binding of the symbols keeps them apart. Precondition: the size indices are in range.
bool may_overlap(const CommandList&, const BufferRange&, const BufferRange&);

/// One line for each two commands without a barrier between them of which one writes what the other touches.
/// Skips ranges with indices out of range. O(accesses * log(accesses)) of a list without hazards whose ranges are
/// numbers, or symbolic ones side by side.
void find_hazards(const CommandList&, std::vector<std::string>& lines);

}  // namespace millrace
