// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hal/host/routines/even_split.h"
#include "hal/host/routines/microkernel.h"

namespace millrace {

/// Long sums are nested (jit/map/sum_levels.h): an f32 accumulator adds at most kMaxGemmSteps terms, and a partial sum
/// adds at most kMaxGemmSteps of these sums. A block of k with more than kMaxGemmSteps steps is split evenly into
/// calls. Each call then has more than kMaxGemmSteps / 2 steps, so that kMaxGemmSteps calls cover kMaxGemmDepth.
inline constexpr std::int64_t kMaxGemmSteps = 512;
inline constexpr std::int64_t kMaxGemmDepth = std::int64_t{1} << 17;
inline constexpr std::size_t kMaxGemmTile = 32 * 16;  // floats: all vector registers of AVX-512
inline constexpr std::size_t kMaxGemmBatch = 6;       // dims
inline constexpr std::size_t kMaxGemmAccesses = 16;   // the epilogue's loads, then its stores

/// The argument of a microkernel: one tile times one panel, and at most kMaxGemmSteps steps of k. Generated code reads
/// it by offset.
struct GemmTile {
  const float* a;
  const float* b;
  float* partial;                                 // the sum of the previous steps; tile rows x panel columns, dense
  std::int64_t k;                                 // steps
  std::int64_t flags;                             // kAddPartial, kStorePartial
  std::array<float*, kMaxGemmAccesses> epilogue;  // per load and store, its address for the tile's first element

  static constexpr std::int64_t kAddPartial = 1;    // add `partial` to the sum of these steps
  static constexpr std::int64_t kStorePartial = 2;  // write the sum to `partial`, without epilogue or stores
};

/// The RoutineCall::parameters of a product, all i64.
struct GemmParameters {
  struct Access {
    std::int64_t buffer, offset, m, n, k;
    std::array<std::int64_t, kMaxGemmBatch> batch;
  };
  EvenSplit tiles, panels, k_blocks;
  std::int64_t lanes;
  std::int64_t tiles_per_group, panels_per_group, tile_groups, panel_groups;
  std::int64_t pack_b;
  std::int64_t packed_panel_bytes, partial_offset, partial_tile_bytes;
  std::int64_t num_batch, num_inner_groups;  // inner groups: those over the batch dims along which B is the same
  std::array<std::int64_t, kMaxGemmBatch> batch_extents;
  /// Indexed by tile (tall, short) and by panel (wide, narrow, last). The last panel may end inside a vector.
  std::array<Microkernels<MultiplyTile, 3>, 2> multiply_tile;
  Microkernels<PackPanel, 3> pack_panel;
  Access a, b;
  std::int64_t num_accesses;
  std::array<Access, kMaxGemmAccesses> epilogue;
};

inline std::size_t panel_kind(const EvenSplit& panels, std::int64_t panel) {
  return panel + 1 == panels.parts ? 2 : panel < panels.extra ? 0 : 1;
}
inline std::size_t tile_kind(const EvenSplit& tiles, std::int64_t tile) { return tile < tiles.extra ? 0 : 1; }

}  // namespace millrace
