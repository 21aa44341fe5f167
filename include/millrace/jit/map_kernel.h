// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/hal/target_spec.h"
#include "millrace/jit/loop_kernel.h"
#include "millrace/jit/machine_kernel.h"

namespace millrace {

/// How a nest is laid on a CPU. Chosen by `choose_tiling`; printed by explain; forced in tests.
struct Tiling {
  std::uint32_t vector_dim = 0;  // domain dim whose points are lanes
  std::uint32_t lanes = 1;
  std::uint32_t vector_unroll = 1;  // vectors per tile along vector_dim
  std::uint32_t row_dim = 0;        // second parallel dim held in registers (contractions); == vector_dim for none
  std::uint32_t row_unroll = 1;
  std::int64_t points_per_group = 0;  // parallel points of one workgroup, about
  /// After a reduction, the epilogue is a loop over the tile's cells, which are in private memory; else a copy for
  /// each.
  bool loops_epilogue = false;
  /// Loads that lie along the rows are read as rows, and turned in registers: a tile has as many rows as lanes.
  bool turns_loads = false;
  /// A turned block that is not whole goes to private memory, and its points from there one by one: code of the same
  /// length for any block, where the target masks no stores.
  bool loops_tail_stores = false;
  friend bool operator==(const Tiling&, const Tiling&) = default;
};

Tiling choose_tiling(const LoopKernel&, const TargetSpec&);
std::string to_text(const Tiling&);

/// Tiles the nest (never the shape), maps points to lanes, and writes the remainder as masked lanes, so every element
/// is computed once and stored once inside the tile body. Facts on extents choose only the remainder code. f16 and
/// bf16 are widened after loads and narrowed before stores by integer sequences, unless they are only moved. On a GPU a
/// tile is a thread's, and a workgroup has the threads of neighbouring tiles. On a CPU a tiling whose code would be too
/// long is cut down first.
Result<MachineKernel> map_kernel(const LoopKernel&, const TargetSpec&);
/// CPUs only.
Result<MachineKernel> map_kernel(const LoopKernel&, const TargetSpec&, const Tiling&);

}  // namespace millrace
