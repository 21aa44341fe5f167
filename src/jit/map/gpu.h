// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/map/gpu_mapping.h"
#include "jit/map/reduction.h"

namespace millrace {

/// Maps the nest to a GPU kernel with one tile of parallel points per thread. Threads past the end of a dim compute no
/// point, but take part when the threads of their workgroup join reduced values.
MachineKernel map_gpu_kernel(const LoopKernel& collapsed, const TargetSpec& target, const GpuMapping& mapping);

/// Bits [first, end) of a thread's id, which hold its index along one dim.
struct ThreadBits {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

/// The threads that share a reduction: those that differ only in `bits`.
struct SharingThreads {
  std::uint32_t workgroup_size = 1;
  std::uint32_t subgroup_size = 1;
  ThreadBits bits;
};

/// Joins the reduced values of the threads; each of them gets the joined value. `accumulators` has one value per
/// reduction. All threads of the workgroup must take part. The order is fixed, so results are reproducible.
Accumulators join_threads(MachineBuilder& b, const SharingThreads& threads, std::span<const Reduction> reductions,
                          Accumulators accumulators);

}  // namespace millrace
