// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/map/gpu_mapping.h"
#include "jit/map/reduction.h"

namespace millrace {

/// The kernel for a GPU: a thread a tile of parallel points. Threads past the end of a dim do nothing, but are there
/// when their workgroup's threads join what they reduced.
MachineKernel map_gpu_kernel(const LoopKernel& collapsed, const TargetSpec& target, const GpuMapping& mapping);

/// Bits [first, end) of a thread's number: its place among the threads along one dim.
struct ThreadBits {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

/// Joins what threads that differ only in `bits` reduced; each of them gets all of it. All threads of the workgroup
/// must be there. The order of joining is fixed: the result is the same in every run.
Accumulators join_threads(const MapContext& context, const GpuMapping& mapping, std::uint32_t subgroup_size,
                          ThreadBits bits, Accumulators accumulators);

}  // namespace millrace
