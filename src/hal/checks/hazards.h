// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "millrace/hal/command_list.h"

namespace millrace {

/// Whether two ranges of one binding may share a byte: exact for constants; for symbolic ranges true unless every
/// binding of the symbols keeps them apart. Precondition: the size indices are in range.
bool may_overlap(const CommandList&, const BufferRange&, const BufferRange&);

/// Adds one line for each pair of commands without a barrier between them in which one writes what the other touches.
/// Skips ranges with indices out of range. O(accesses * log(accesses)) for a list without hazards whose ranges are
/// numbers, or adjacent symbolic ones.
void find_hazards(const CommandList&, std::vector<std::string>& lines);

}  // namespace millrace
