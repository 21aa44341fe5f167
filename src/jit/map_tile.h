// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/map_body.h"

namespace millrace {

/// True in the first `num_points` lanes.
MachineValue lane_mask(MachineBuilder& b, std::uint32_t lanes, MachineValue num_points);

/// Code for the points of one tile, at the parallel indices of `position`: accumulators in registers, the reduction
/// loops, the epilogue, and the only stores that there are.
void emit_tile(const MapContext& context, const Position& position, const TileShape& shape);

}  // namespace millrace
