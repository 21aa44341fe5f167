// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/coarse_keys.h"
#include "jit/lanes/load_microkernels.h"

namespace millrace {

// The microkernels that src/hal/host/routines/row_selector.h and topk_rows.h call, with the same names and arguments.

LaneFunction find_minima_function(IsaLevel, const CoarseKeys&);
LaneFunction find_column_minima_function(IsaLevel, const CoarseKeys&);
/// The same for elements that are computed in lanes as wide as the keys', with the arguments of ComputeElements.
LaneFunction find_computed_minima_function(IsaLevel, const CoarseKeys&, const ComputedElements&);
LaneFunction fold_minima_function(IsaLevel, int lane_bits);
LaneFunction fold_four_minima_function(IsaLevel, int lane_bits);
LaneFunction find_group_minima_function(IsaLevel, const CoarseKeys&, int num_vectors);
LaneFunction filter_row_function(IsaLevel, const CoarseKeys&);
/// The same, and fetches what follows.
LaneFunction filter_whole_row_function(IsaLevel, const CoarseKeys&);
LaneFunction find_passing_function(IsaLevel, const CoarseKeys&);
LaneFunction match_minima_function(IsaLevel, int lane_bits);
LaneFunction list_chunks_function(IsaLevel, int lane_bits);
LaneFunction match_elements_function(IsaLevel, const CoarseKeys&);

}  // namespace millrace
