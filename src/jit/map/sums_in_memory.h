// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/map/body.h"

namespace millrace {

/// Sets Tiling::sums_in_memory for reductions of columns: a tile then has a long piece of each row, which is read from
/// its beginning to its end, as memory is fastest. Accumulators in registers would visit a few cache lines of every
/// row.
Tiling with_sums_in_memory(const LoopKernel& collapsed, Tiling tiling);

/// Emits the reductions of a tile whose accumulators are MapContext::cells. The epilogue follows.
/// Precondition: the tiling has sums_in_memory.
void emit_sums_in_memory(const MapContext& context, const Position& position, const TileShape& shape);

}  // namespace millrace
