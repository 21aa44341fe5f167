// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/map/body.h"

namespace millrace {

/// Whether a CPU reduces columns along `dim`: each step leaves the cache lines that the vector of the step before read.
bool has_columns(const LoopKernel& collapsed, std::size_t dim);

/// Sets Tiling::sums_in_memory for reductions of columns. A tile then reads a long piece of each row in the order of
/// its addresses, which memory serves fastest. With accumulators in registers, it would read a few cache lines of every
/// row.
Tiling with_sums_in_memory(const LoopKernel& collapsed, Tiling tiling);

/// Emits the reductions of a tile whose accumulators are MapContext::cells. The epilogue follows.
/// Precondition: the tiling has sums_in_memory.
void emit_sums_in_memory(const MapContext& context, const Position& position, const TileShape& shape);

}  // namespace millrace
