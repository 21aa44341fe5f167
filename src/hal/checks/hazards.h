// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "millrace/hal/command_list.h"

namespace millrace {

/// Whether two ranges of one binding may share a byte. Exact for constants. For symbolic ranges, false only if they are
/// known to be disjoint for all values of the symbols. Precondition: the size indices are in range.
bool may_overlap(const CommandList&, const BufferRange&, const BufferRange&);

/// Adds one line per hazard: two commands with no barrier between them, where one command writes bytes that the other
/// reads or writes. Skips ranges with indices out of range. Takes O(accesses * log(accesses)) if the list has no
/// hazards, and its ranges are constants or adjacent symbolic ranges.
void find_hazards(const CommandList&, std::vector<std::string>& lines);

}  // namespace millrace
