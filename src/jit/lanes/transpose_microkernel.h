// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/host/routines/sort/column_block.h"
#include "jit/lanes/element_lanes.h"
#include "jit/lanes/microkernel_sink.h"

namespace millrace {

/// Appends the microkernel that transposes tiles of elements of this dtype's size. A tile is as wide as a vector.
TileCode append_tiles(const MicrokernelSink&, DType);

}  // namespace millrace
