// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/map/gpu_mapping.h"
#include "jit/map/reduction.h"

namespace millrace {

/// The position of a thread in a staged mapping.
struct StagedPosition {
  Position group;            // first point of its workgroup
  Position thread;           // first point of its tile
  LinearValue row_place;     // its index among the threads along the tile's rows
  LinearValue vector_place;  // its index among the threads along the tile's lanes
};

/// Emits a sum of products through workgroup memory. Block by block along the reduction, all threads load a block of
/// each operand that neighbouring points share; then each thread multiplies its rows by its lanes. All threads of the
/// workgroup must take part.
void emit_staged(const MapContext& context, const GpuMapping& mapping, const StagedPosition& position);

}  // namespace millrace
