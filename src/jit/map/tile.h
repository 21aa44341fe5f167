// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "jit/map/reduction.h"

namespace millrace {

/// A mask that is true in the first `num_points` lanes.
MachineValue lane_mask(MachineBuilder& b, std::uint32_t lanes, MachineValue num_points);

/// Emits the code for one tile at the parallel indices of `position`: accumulators in registers, the reduction loops,
/// the epilogue and the stores.
void emit_tile(const MapContext& context, const Position& position, const TileShape& shape);

/// The last part of emit_tile: the epilogue, which reads `row`, and its stores.
void emit_stores(const MapContext& context, const Position& position, TileShape shape, const RowValues& row);

}  // namespace millrace
