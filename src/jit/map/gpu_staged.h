// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/map/gpu_mapping.h"
#include "jit/map/reduction.h"

namespace millrace {

/// The position of a thread in a staged mapping.
struct StagedPosition {
  Position group;            // the first point of the workgroup
  Position thread;           // the first point of the thread's tile
  LinearValue row_place;     // the thread's index among the threads along the rows
  LinearValue vector_place;  // the thread's index among the threads along the lanes
};

/// Emits a sum of products that stages its operands in workgroup memory. For each block of the reduction, all threads
/// together load a block of each operand that neighbouring points share. Then each thread multiplies its rows by its
/// lanes. All threads of the workgroup must take part.
void emit_staged(const MapContext& context, const GpuMapping& mapping, const StagedPosition& position);

}  // namespace millrace
