// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "hal/host/routines/even_split.h"
#include "hal/host/routines/gemm/gemm_f32.h"
#include "jit/xbyak/gemm_problem.h"
#include "millrace/hal/target_spec.h"

namespace millrace {

/// How a product is divided. A *tile* is a few rows of C; a *panel* is a few vectors of C's columns. The microkernel
/// keeps tile x panel in registers over a block of k. A *group* is a workgroup: some tiles times some panels.
struct GemmBlocking {
  std::int64_t lanes = 16;  // f32 per vector
  EvenSplit tiles;          // splits m, in rows
  EvenSplit panels;         // splits n, in vectors
  EvenSplit k_blocks;       // splits k
  std::int64_t tiles_per_group = 1;
  std::int64_t panels_per_group = 1;
  bool pack_b = false;  // panels are copied, k-major, instead of being read in place

  std::int64_t tile_groups() const { return (tiles.parts + tiles_per_group - 1) / tiles_per_group; }
  std::int64_t panel_groups() const { return (panels.parts + panels_per_group - 1) / panels_per_group; }

  /// Whether a sum over k takes several calls of a microkernel, with partial sums stored in between.
  bool has_partial() const { return k_blocks.parts > 1 || k_blocks.largest() > kMaxGemmSteps; }

  /// The size of a packed panel. Copies may write past the panel's last row of k, up to a whole transposed block.
  std::int64_t packed_panel_bytes() const;
  std::int64_t packed_b_bytes() const { return pack_b ? panels_per_group * packed_panel_bytes() : 0; }
  std::int64_t partial_tile_bytes() const { return tiles.largest() * panels.largest() * lanes * 4; }
  std::int64_t partial_bytes() const {
    return k_blocks.parts > 1 ? tiles_per_group * panels_per_group * partial_tile_bytes() : 0;
  }
  std::int64_t workgroup_bytes() const { return packed_b_bytes() + partial_bytes(); }
  std::string to_text() const;
  friend bool operator==(const GemmBlocking&, const GemmBlocking&) = default;
};

/// Vector registers available to the microkernel.
struct GemmRegisters {
  std::int64_t available = 32;
  std::int64_t epilogue = 0;  // needed in addition to the accumulators while the epilogue runs
};

/// Precondition: the target has FMA.
GemmBlocking choose_gemm_blocking(const GemmProblem&, const GemmRegisters&, const TargetSpec&);

}  // namespace millrace
