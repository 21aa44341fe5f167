// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "jit/map/reduction.h"

namespace millrace {

/// True in the first `num_points` lanes.
MachineValue lane_mask(MachineBuilder& b, std::uint32_t lanes, MachineValue num_points);

/// Code for the points of one tile, at the parallel indices of `position`: accumulators in registers, the reduction
/// loops, the epilogue, and the only stores that there are.
void emit_tile(const MapContext& context, const Position& position, const TileShape& shape);

/// The end of it: the epilogue of what the reductions gave (`ReductionEmitter::results`), and the stores.
void emit_stores(const MapContext& context, const Position& position, TileShape shape,
                 std::span<const MachineValue> reduced);

}  // namespace millrace
