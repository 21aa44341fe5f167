// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/lanes/microkernel_code.h"

namespace millrace {

/// The elements on each side of a tile: those of a vector.
int transpose_tile_of(IsaLevel, std::uint8_t element_bytes);
MicrokernelCode<TransposeTiles> transpose_tiles_function(IsaLevel, std::uint8_t element_bytes);

}  // namespace millrace
