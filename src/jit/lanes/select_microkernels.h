// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/coarse_keys.h"
#include "jit/lanes/load_microkernels.h"

namespace millrace {

// What each microkernel does: src/hal/host/routines/microkernels.inc.

MicrokernelCode<FindMinima> find_minima_function(IsaLevel, const CoarseKeys&);
MicrokernelCode<FindColumnMinima> find_column_minima_function(IsaLevel, const CoarseKeys&);
/// The same for elements that are computed in lanes as wide as the keys', with the arguments of ComputeElements.
MicrokernelCode<ComputeElements> find_computed_minima_function(IsaLevel, const CoarseKeys&, const ComputedElements&);
MicrokernelCode<FoldMinima> fold_minima_function(IsaLevel, int lane_bits);
MicrokernelCode<FoldFourMinima> fold_four_minima_function(IsaLevel, int lane_bits);
MicrokernelCode<FindGroupMinima> find_group_minima_function(IsaLevel, const CoarseKeys&, int num_vectors);
MicrokernelCode<FilterKeys> filter_row_function(IsaLevel, const CoarseKeys&);
/// The same, and fetches what follows.
MicrokernelCode<FilterKeys> filter_whole_row_function(IsaLevel, const CoarseKeys&);
MicrokernelCode<FilterKeys> find_passing_function(IsaLevel, const CoarseKeys&);
MicrokernelCode<MatchMinima> match_minima_function(IsaLevel, int lane_bits);
MicrokernelCode<ListChunks> list_chunks_function(IsaLevel, int lane_bits);
MicrokernelCode<MatchElements> match_elements_function(IsaLevel, const CoarseKeys&);

}  // namespace millrace
