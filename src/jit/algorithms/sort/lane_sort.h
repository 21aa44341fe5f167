// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/algorithms/algorithm.h"

namespace millrace {

/// A margin that holds if the first k elements are selected without sorting the whole row.
SizeExpr margin_of_selected(const SortDescriptor& sort);

/// Appends one kernel that sorts each row with vectors of keys, and the scratch for the keys if it needs any. `buffers`
/// are the operands and results of the descriptor.
Status append_lane_sort(KernelSequence& sequence, const SortDescriptor& sort, std::vector<SequenceOperand> buffers,
                        const Target& target, const LowerOptions& options);

}  // namespace millrace
