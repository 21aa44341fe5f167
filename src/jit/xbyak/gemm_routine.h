// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "jit/xbyak/gemm_blocking.h"
#include "millrace/hal/host_kernel.h"

namespace millrace {

inline constexpr std::string_view kGemmRoutineName = "gemm_f32";
inline constexpr std::size_t kMaxGemmBatch = 6;      // dims
inline constexpr std::size_t kMaxGemmAccesses = 16;  // of the epilogue: loads, then stores

/// What a microkernel is called with, for one tile x panel and one block of k. Generated code reads it by offset.
struct GemmTile {
  const float* a;
  const float* b;
  float* partial;      // sums of the blocks of k before and after; tile rows by panel columns, dense
  std::int64_t k;      // steps
  std::int64_t flags;  // kLoadPartial, kStorePartial
  std::array<float*, kMaxGemmAccesses> epilogue;  // at the tile's first row and column

  static constexpr std::int64_t kLoadPartial = 1;   // start from `partial`, not from 0
  static constexpr std::int64_t kStorePartial = 2;  // leave sums in `partial`; no epilogue, no store
};
using GemmMicrokernel = void (*)(const GemmTile*);

/// Copies `k` steps of a panel of B, k-major.
using GemmPack = void (*)(const float* source, float* packed, std::int64_t k);

/// ExecutableImage::routine_parameters of a product: nothing but i64. The functions' offsets are from the image's
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
  std::int64_t num_batch, num_inner_groups;  // inner: of the batch dims over which B stays
  std::array<std::int64_t, kMaxGemmBatch> batch_extents;
  /// Tiles are tall or short, panels wide, narrow, or the last one, which may end inside a vector.
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

/// Loops of tiles, panels and blocks of k around generated microkernels. HostRoutine.
void gemm_f32(const void* microkernel, std::span<const std::int64_t> parameters, const KernelArgs*,
              std::uint32_t first_group, std::uint32_t end_group);

}  // namespace millrace
