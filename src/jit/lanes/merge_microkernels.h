// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/sort_microkernels.h"

namespace millrace {

// The microkernels with which src/hal/host/routines/row_sorter.h merges sorted runs, with the same names and arguments.

/// For the number of vectors of a RowSorterCode::kMergedVectors.
LaneFunction merge_few_function(IsaLevel, int lane_bits, int num_vectors);
/// The same from keys to their elements or indices, as sort_few_results_function has them.
LaneFunction merge_few_results_function(IsaLevel, const LaneKeys&, SortResult, int num_vectors);

// For runs of 32 vectors.
LaneFunction exchange_halves_function(IsaLevel, int lane_bits);
LaneFunction merge_bitonic_function(IsaLevel, int lane_bits);

}  // namespace millrace
