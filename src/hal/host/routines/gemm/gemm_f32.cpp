// SPDX-License-Identifier: Apache-2.0
// Multiplies f32 matrices: packs panels, and calls the tile microkernel for each tile and block of k.
#include "hal/host/routines/gemm/gemm_f32.h"

#include <utility>

#include "hal/host/routines/routine.h"

namespace millrace {
namespace {

/// Identifies the panels of B that workgroup memory holds. Neighbouring groups share them, within a call and from call
/// to call.
struct PackedPanels {
  const float* from;  // null if no panels are held
  std::int64_t panel, k_block;
  friend bool operator==(const PackedPanels&, const PackedPanels&) = default;
};
static_assert(sizeof(PackedPanels) <= KernelArgs::kWorkerStateBytes);

/// One call's iteration over its groups.
class GemmWalk {
 public:
  GemmWalk(const void* code, const GemmParameters& parameters, const KernelArgs& args)
      : code_(code),
        p_(parameters),
        args_(args),
        workgroup_memory_(static_cast<std::byte*>(args.workgroup_memory)),
        packed_(args.worker_state == nullptr ? own_packed_ : *static_cast<PackedPanels*>(args.worker_state)) {}

  /// Groups are numbered with tiles innermost, then the batch dims along which B is the same, then panels, then the
  /// batch dims along which B differs.
  void run(std::int64_t group) {
    first_tile_ = group % p_.tile_groups * p_.tiles_per_group;
    group /= p_.tile_groups;
    std::int64_t inner = group % p_.num_inner_groups;
    group /= p_.num_inner_groups;
    first_panel_ = group % p_.panel_groups * p_.panels_per_group;
    std::int64_t batch = group / p_.panel_groups * p_.num_inner_groups + inner;
    end_tile_ = std::min(first_tile_ + p_.tiles_per_group, p_.tiles.parts);
    end_panel_ = std::min(first_panel_ + p_.panels_per_group, p_.panels.parts);
    for (std::int64_t dim = p_.num_batch; dim-- > 0;) {
      batch_[dim] = batch % p_.batch_extents[dim];
      batch /= p_.batch_extents[dim];
    }
    for (std::int64_t i = 0; i < p_.num_accesses; ++i) bases_[i] = base(p_.epilogue[i]);
    const float* a = base(p_.a);
    const float* b = base(p_.b);
    for (std::int64_t k_block = 0; k_block < p_.k_blocks.parts; ++k_block) run_k_block(a, b, k_block);
  }

 private:
  float* base(const GemmParameters::Access& access) const {
    std::int64_t offset = access.offset;
    for (std::int64_t dim = 0; dim < p_.num_batch; ++dim) offset += access.batch[dim] * batch_[dim];
    return static_cast<float*>(args_.buffers[access.buffer]) + offset;
  }

  void pack_panels(const float* b, std::int64_t k_block) {
    const float* from = b + p_.k_blocks.start(k_block) * p_.b.k + p_.panels.start(first_panel_) * p_.lanes * p_.b.n;
    const PackedPanels needed{from, first_panel_, k_block};
    if (std::exchange(packed_, needed) == needed) return;
    for (std::int64_t panel = first_panel_; panel < end_panel_; ++panel) {
      const PackPanel pack = p_.pack_panel[panel_kind(p_.panels, panel)].at(code_);
      const std::int64_t column = (p_.panels.start(panel) - p_.panels.start(first_panel_)) * p_.lanes;
      pack(from + column * p_.b.n, memory((panel - first_panel_) * p_.packed_panel_bytes), p_.k_blocks.size(k_block));
    }
  }

  void run_k_block(const float* a, const float* b, std::int64_t k_block) {
    if (p_.pack_b) pack_panels(b, k_block);
    GemmTile tile;
    std::int64_t partial_offset = p_.partial_offset;
    for (std::int64_t t = first_tile_; t < end_tile_; ++t) {
      const std::int64_t row = p_.tiles.start(t);
      for (std::int64_t panel = first_panel_; panel < end_panel_; ++panel) {
        const std::int64_t column = p_.panels.start(panel) * p_.lanes;
        tile.a = a + row * p_.a.m + p_.k_blocks.start(k_block) * p_.a.k;
        tile.b = p_.pack_b ? memory((panel - first_panel_) * p_.packed_panel_bytes)
                           : b + p_.k_blocks.start(k_block) * p_.b.k + column * p_.b.n;
        tile.partial = p_.partial_tile_bytes == 0 ? tile_sums_.data() : memory(partial_offset);
        partial_offset += p_.partial_tile_bytes;
        for (std::int64_t i = 0; i < p_.num_accesses; ++i) {
          tile.epilogue[i] = bases_[i] + row * p_.epilogue[i].m + column * p_.epilogue[i].n;
        }
        const std::int64_t packed_step = p_.panels.size(panel) * p_.lanes;
        const Microkernel<MultiplyTile> multiply =
            p_.multiply_tile[tile_kind(p_.tiles, t)][panel_kind(p_.panels, panel)];
        run_tile(multiply.at(code_), tile, p_.pack_b ? packed_step : p_.b.k, k_block);
      }
    }
  }

  /// Cuts the block into calls with at most kMaxGemmSteps steps, the limit of one accumulator. `tile` points to the
  /// block's first step before the call, and past its last step after it.
  void run_tile(MultiplyTile multiply, GemmTile& tile, std::int64_t b_step, std::int64_t k_block) const {
    const std::int64_t before = k_block > 0 ? GemmTile::kAddPartial : 0;
    const std::int64_t after = k_block + 1 < p_.k_blocks.parts ? GemmTile::kStorePartial : 0;
    const EvenSplit calls = EvenSplit::at_most(p_.k_blocks.size(k_block), kMaxGemmSteps);
    for (std::int64_t call = 0; call < calls.parts; ++call) {
      tile.k = calls.size(call);
      tile.flags =
          (call > 0 ? GemmTile::kAddPartial : before) | (call + 1 < calls.parts ? GemmTile::kStorePartial : after);
      multiply(&tile);
      tile.a += tile.k * p_.a.k;
      tile.b += tile.k * b_step;
    }
  }

  float* memory(std::int64_t offset_bytes) const { return reinterpret_cast<float*>(workgroup_memory_ + offset_bytes); }

  const void* code_;
  const GemmParameters& p_;
  const KernelArgs& args_;
  std::byte* workgroup_memory_;

  // The current group.
  std::array<std::int64_t, kMaxGemmBatch> batch_{};
  std::int64_t first_tile_ = 0, end_tile_ = 0, first_panel_ = 0, end_panel_ = 0;
  std::array<float*, kMaxGemmAccesses> bases_{};
  alignas(64) std::array<float, kMaxGemmTile> tile_sums_;  // kept between consecutive calls for one tile
  PackedPanels own_packed_ = {};
  PackedPanels& packed_;
};

}  // namespace

void gemm_f32(const void* code, std::span<const std::int64_t> parameters, const KernelArgs* args,
              std::uint32_t first_group, std::uint32_t end_group) {
  GemmWalk walk(code, parameters_of<GemmParameters>(parameters), *args);
  for (std::uint32_t group = first_group; group < end_group; ++group) walk.run(group);
}

}  // namespace millrace
