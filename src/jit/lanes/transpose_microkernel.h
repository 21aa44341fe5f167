// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/lane_function.h"

namespace millrace {

/// The elements on each side of a tile: those of a vector.
int transpose_tile_of(IsaLevel, std::uint8_t element_bytes);
/// TransposeTiles of src/hal/host/routines/column_block.h.
LaneFunction transpose_tiles_function(IsaLevel, std::uint8_t element_bytes);

}  // namespace millrace
