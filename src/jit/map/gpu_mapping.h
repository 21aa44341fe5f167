// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "millrace/jit/map_kernel.h"

namespace millrace {

/// The maximum length of an epilogue that is unrolled over a thread's points. A longer one is emitted once, in a loop
/// over the points, to keep kernels small. With four rounds of tanh, pow and add after a 4096x4096 product, code
/// generation takes 190 ms instead of 1927 ms (gfx90a).
constexpr std::size_t kLongEpilogue = 40;

/// Neighbouring threads of a workgroup along one dim of the nest. Along a parallel dim, each thread has its own tile.
/// Along a reduction dim, thread i of n reduces the points i, i + n, ...
struct ThreadDim {
  std::uint32_t dim = 0;
  std::uint32_t threads = 1;  // a power of two
  friend bool operator==(const ThreadDim&, const ThreadDim&) = default;
};

/// How a loop nest maps to a GPU. A workgroup has no loop over parallel dims: there are as many workgroups as needed.
struct GpuMapping {
  Tiling tile;                     // one thread's tile; points_per_group is unused
  std::vector<ThreadDim> threads;  // neighbouring threads differ along the first; at most one is a reduction dim
  std::uint32_t workgroup_size = 1;
  /// The number of reduction points whose operands are in workgroup memory at a time, for tiles whose rows and lanes
  /// share operands. 0 if operands are not staged.
  std::uint32_t staged_points = 0;
  std::uint32_t staged_dim = 0;
  /// The number of points of a shared row whose temporaries each thread keeps in registers, from pass to pass. If 0,
  /// the passes are loops, and compute temporaries again.
  std::uint32_t points_in_registers = 0;
  /// Whether the epilogue of a staged tile is a loop over its results.
  bool stores_one_by_one = false;
  friend bool operator==(const GpuMapping&, const GpuMapping&) = default;

  /// The number of threads along `dim`.
  std::uint32_t threads_along(std::size_t dim) const;
  /// The number of threads with work. The workgroup has at least one whole subgroup.
  std::uint32_t num_threads() const;
  /// The points of a workgroup along a parallel dim.
  std::int64_t points_along(std::size_t dim) const;
};

/// Preconditions: `collapsed` is the result of collapse_dims, and the target is a GPU.
GpuMapping choose_gpu_mapping(const LoopKernel& collapsed, const TargetSpec& target);
/// A mapping with staged points, for sums of products and other reductions whose operands depend on different parallel
/// dims. Returns nothing if neighbouring points share too few operands.
std::optional<GpuMapping> choose_staged_mapping(const LoopKernel& collapsed);

}  // namespace millrace
