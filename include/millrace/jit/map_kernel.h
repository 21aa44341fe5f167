// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/hal/target_spec.h"
#include "millrace/jit/loop_kernel.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// How a loop nest is mapped to a CPU: chosen by choose_tiling, printed by `millrace explain`, and forced by tests.
struct Tiling {
  std::uint32_t vector_dim = 0;  // the domain dim whose points are lanes
  std::uint32_t lanes = 1;
  std::uint32_t vector_unroll = 1;  // vectors per tile along vector_dim
  std::uint32_t row_dim = 0;        // second parallel dim in registers, for contractions; otherwise vector_dim
  std::uint32_t row_unroll = 1;
  std::int64_t points_per_group = 0;  // approximate number of parallel points per workgroup
  /// Whether a reduction's epilogue is emitted once, in a loop over the tile's cells, which are then kept in private
  /// memory. Otherwise each cell has its own copy of the epilogue.
  bool loops_epilogue = false;
  /// Whether loads that are contiguous along row_dim are read as vectors along it and transposed in registers. The tile
  /// then has as many rows as lanes.
  bool transposes_loads = false;
  /// Whether a partial transposed block is first written to private memory, and then copied to the result point by
  /// point in a loop. Used if the target has no masked stores; the code then does not grow with the block.
  bool loops_tail_stores = false;
  /// The number of points of the innermost reduction dim per step. Each has its own accumulators, because with too few
  /// accumulators each addition would wait for the previous one. 1 if lanes run along a reduction dim.
  std::uint32_t term_unroll = 1;
  /// Whether stores of whole vectors may bypass the caches, if their offsets are known to be aligned.
  bool streams = false;
  /// Whether a tile that reads only inside its operands runs code without bounds checks. The tile's code then exists
  /// twice, with and without checks.
  bool splits_interior = false;
  /// Whether the terms of a tile without bounds checks are emitted one after the other, without loops.
  bool unrolls_reductions = false;
  /// Whether the accumulators of a tile are in memory, and its vectors are walked inside the loops over the reduction
  /// dims. Needs loops_epilogue.
  bool sums_in_memory = false;
  friend bool operator==(const Tiling&, const Tiling&) = default;
};

Tiling choose_tiling(const LoopKernel&, const TargetSpec&);
std::string to_text(const Tiling&);

/// Tiles the nest without padding any tensor, maps points to lanes, and handles remainders with masked lanes, so that
/// every element is computed and stored exactly once, inside the tile body. Facts about extents affect only the
/// remainder code. f16 and bf16 are widened after loads and narrowed before stores by integer sequences, unless they
/// are only moved. On a GPU, each thread has one tile, and a workgroup's threads have neighbouring tiles. On a CPU, a
/// tiling whose code would be too long is first reduced.
Result<MachineKernel> map_kernel(const LoopKernel&, const TargetSpec&);
struct DescribedKernel {
  MachineKernel kernel;
  std::string mapping;  // "16 lanes x 4 along n, 6 rows along m, 4096 points per group"
};
/// Like map_kernel, with a description of the mapping, for people.
/// Precondition: verify() accepts the nest.
Result<DescribedKernel> map_and_describe(const LoopKernel&, const TargetSpec&);
/// Like map_kernel, with a given tiling; for CPUs only.
Result<MachineKernel> map_kernel(const LoopKernel&, const TargetSpec&, const Tiling&);

}  // namespace millrace
