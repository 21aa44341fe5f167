// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "hal/host/routines/even_split.h"
#include "millrace/hal/host_kernel.h"

namespace millrace {

inline constexpr std::string_view kGemmRoutineName = "gemm_f32";
/// The version of GemmTile, GemmPack and GemmParameters: raise it with every change of theirs.
inline constexpr std::uint32_t kGemmRoutineAbi = 2;
/// Long sums nest (jit/map/sum_levels.h): an f32 accumulator takes at most kMaxGemmSteps terms, and a partial sum at
/// most as many of these sums. A block of more steps is cut evenly, into calls of more than half as many, which is
/// enough for kMaxGemmDepth.
inline constexpr std::int64_t kMaxGemmSteps = 512;
inline constexpr std::int64_t kMaxGemmDepth = std::int64_t{1} << 17;
inline constexpr std::size_t kMaxGemmTile = 32 * 16;  // floats: all vector registers of AVX-512
inline constexpr std::size_t kMaxGemmBatch = 6;       // dims
inline constexpr std::size_t kMaxGemmAccesses = 16;   // the epilogue's: loads, then stores

/// The argument of a microkernel: one tile x panel and at most kMaxGemmSteps of k. Generated code reads it by offset.
struct GemmTile {
  const float* a;
  const float* b;
  float* partial;                                 // the sum of the steps before; tile rows x panel columns, dense
  std::int64_t k;                                 // steps
  std::int64_t flags;                             // kAddPartial, kStorePartial
  std::array<float*, kMaxGemmAccesses> epilogue;  // pointers to the tile's first row and column

  static constexpr std::int64_t kAddPartial = 1;    // add `partial` to the sum of these steps
  static constexpr std::int64_t kStorePartial = 2;  // write the sum to `partial`, without epilogue or stores
};
using GemmMicrokernel = void (*)(const GemmTile*);

/// Copies `k` steps of a panel of B, k-major.
using GemmPack = void (*)(const float* source, float* packed, std::int64_t k);

/// The RoutineCall::parameters of a product, all i64. Functions are given by offsets from the image's
/// entry.
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
  std::int64_t num_batch, num_inner_groups;  // inner: over the batch dims along which B stays
  std::array<std::int64_t, kMaxGemmBatch> batch_extents;
  /// Indexed by tile (tall, short) and by panel (wide, narrow, last). The last panel may end inside a vector.
  std::array<std::array<std::int64_t, 3>, 2> kernel_offset;
  std::array<std::int64_t, 3> pack_b_offset;
  Access a, b;
  std::int64_t num_accesses;
  std::array<Access, kMaxGemmAccesses> epilogue;
};

inline std::size_t panel_kind(const EvenSplit& panels, std::int64_t panel) {
  return panel + 1 == panels.parts ? 2 : panel < panels.extra ? 0 : 1;
}
inline std::size_t tile_kind(const EvenSplit& tiles, std::int64_t tile) { return tile < tiles.extra ? 0 : 1; }

/// Loops over tiles, panels and blocks of k, calling the generated microkernels. A HostRoutine.
void gemm_f32(const void* microkernel, std::span<const std::int64_t> parameters, const KernelArgs*,
              std::uint32_t first_group, std::uint32_t end_group);

}  // namespace millrace
