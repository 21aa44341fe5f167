// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "millrace/jit/map_kernel.h"

namespace millrace {

/// Instructions of an epilogue; a longer one is there once, for one point at a time, so that kernels stay small.
constexpr std::size_t kLongEpilogue = 40;

/// Threads of a workgroup side by side along a dim of the nest. Of a parallel dim each has a tile of its own; the
/// points of a reduction dim they share out, one after the other.
struct ThreadDim {
  std::uint32_t dim = 0;
  std::uint32_t threads = 1;  // a power of two
  friend bool operator==(const ThreadDim&, const ThreadDim&) = default;
};

/// How a nest is laid on a GPU. A workgroup has no loop over parallel dims: there are as many workgroups as it takes.
struct GpuMapping {
  Tiling tile;                     // of one thread; points_per_group says nothing here
  std::vector<ThreadDim> threads;  // neighbouring threads along the first; at most one reduction dim
  std::uint32_t workgroup_size = 1;
  /// Points of a reduction dim whose operands the workgroup's memory holds at a time, for tiles of rows and lanes that
  /// share them; 0: none.
  std::uint32_t staged_points = 0;
  std::uint32_t staged_dim = 0;
  /// True of a staged tile whose results go through the epilogue one after the other.
  bool stores_in_turn = false;
  friend bool operator==(const GpuMapping&, const GpuMapping&) = default;

  /// Threads along `dim`.
  std::uint32_t threads_along(std::size_t dim) const;
  /// Those that have work; the workgroup has at least a subgroup.
  std::uint32_t num_threads() const;
  /// Points of a workgroup along a parallel dim.
  std::int64_t points_along(std::size_t dim) const;
};

/// Precondition: `collapsed` is collapse_dims of a kernel, the target is a GPU.
GpuMapping choose_gpu_mapping(const LoopKernel& collapsed, const TargetSpec& target);
/// The part of it for sums of products, and other reductions whose operands have dims of their own: a mapping with
/// staged points. Nothing where neighbours share too little.
std::optional<GpuMapping> choose_staged_mapping(const LoopKernel& collapsed);

}  // namespace millrace
