// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/map/body.h"

namespace millrace {

/// Sets Tiling::splits_interior if enough tiles of the nest can read inside their operands only, and then makes the
/// tile so short that the edges are a small part of a row.
Tiling with_interior(const LoopKernel& collapsed, Tiling tiling);

/// Whether all the tile's checks of affine indices pass. False where that depends on sizes that a run binds.
MachineValue is_interior(const MapContext& context, const Position& position, const TileShape& shape);

}  // namespace millrace
