// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/jit/map_kernel.h"

namespace millrace {

/// For each temporary, whether a CPU kernel with this tiling keeps it in memory: if computing it again takes longer
/// than a store and a load, and if the temporaries of one tile fit into a part of the L2 cache.
std::vector<bool> kept_in_memory(const LoopKernel& collapsed, const Tiling& tiling);

/// Returns the same nest with only the temporaries for which `keeps` is true. Later passes compute the others again.
LoopKernel keep_temporaries(const LoopKernel& kernel, const std::vector<bool>& keeps);

}  // namespace millrace
