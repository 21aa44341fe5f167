// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/map/gpu_mapping.h"
#include "jit/map/reduction.h"

namespace millrace {

/// Where a thread of a staged mapping stands.
struct StagedPosition {
  Position group;            // at the first point of its workgroup
  Position thread;           // at the first point of its tile
  LinearValue row_place;     // its number among the threads along the tile's rows
  LinearValue vector_place;  // and along its lanes
};

/// A sum of products by way of workgroup memory: all threads load a block of each operand, which neighbours in the
/// block share, then each multiplies its rows by its lanes; block after block along the reduction. All threads of the
/// workgroup must be there.
void emit_staged(const MapContext& context, const GpuMapping& mapping, const StagedPosition& position);

}  // namespace millrace
