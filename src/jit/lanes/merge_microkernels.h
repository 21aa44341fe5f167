// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/sort_microkernels.h"

namespace millrace {

// What each microkernel does: src/hal/host/routines/microkernels.inc.

/// For the number of vectors of a RowSorterCode::kMergedVectors.
MicrokernelCode<MergeFew> merge_few_function(IsaLevel, int lane_bits, int num_vectors);
/// The same from keys to their elements or indices, as sort_few_results_function has them.
MicrokernelCode<MergeFew> merge_few_results_function(IsaLevel, const LaneKeys&, SortResult, int num_vectors);

// For runs of 32 vectors.
MicrokernelCode<ChangeKeys> exchange_halves_function(IsaLevel, int lane_bits);
MicrokernelCode<ChangeKeys> merge_bitonic_function(IsaLevel, int lane_bits);

}  // namespace millrace
