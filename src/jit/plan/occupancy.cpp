// SPDX-License-Identifier: Apache-2.0
#include "millrace/jit/occupancy.h"

#include <algorithm>

namespace millrace {
namespace {

/// What all targets of a generation have in common, and their table rows therefore leave out.
struct Generation {
  std::uint32_t num_scalar_registers;  // per SIMD, shared by its subgroups; 0: every subgroup has its own
  std::uint32_t scalar_register_granule;
  std::uint32_t memory_granule_bytes;  // workgroup memory is allocated in multiples of this
};
/// Sources: LLVM's AMDGPUUsage (COMPUTE_PGM_RSRC1) and Mesa's ac_gpu_info.
constexpr Generation kCdna{800, 16, 512}, kRdna{0, 1, 1024};

const Generation& generation_of(const GfxTarget& gfx) { return gfx.subgroup_size == 64 ? kCdna : kRdna; }

/// The number of shares of `size`, each rounded up to the granule, that fit into `total`; at most `most`.
std::uint32_t num_shares(std::uint64_t size, std::uint32_t total, std::uint32_t granule, std::uint32_t most) {
  if (size == 0 || total == 0) return most;
  const std::uint64_t share = (size + granule - 1) / granule * granule;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(most, total / share));
}

}  // namespace

std::string_view to_text(OccupancyLimit limit) {
  switch (limit) {
    case OccupancyLimit::kNothing:
      return "nothing";
    case OccupancyLimit::kVectorRegisters:
      return "vector registers";
    case OccupancyLimit::kScalarRegisters:
      return "scalar registers";
    case OccupancyLimit::kWorkgroupMemory:
      return "workgroup memory";
    case OccupancyLimit::kWorkgroupSize:
      return "workgroup size";
  }
  return "unknown";
}

Occupancy occupancy_of(const CodeObjectKernel& kernel, const GfxTarget& gfx) {
  const Generation& generation = generation_of(gfx);
  const std::uint32_t subgroups = std::max(1u, (kernel.workgroup_size + gfx.subgroup_size - 1) / gfx.subgroup_size);
  const std::uint32_t groups_by_size = gfx.max_waves * gfx.num_simds / subgroups;
  const std::uint32_t groups_by_memory =
      num_shares(kernel.workgroup_bytes, gfx.unit_memory_bytes, generation.memory_granule_bytes, groups_by_size);
  const auto per_simd = [&](std::uint32_t groups) { return (groups * subgroups + gfx.num_simds - 1) / gfx.num_simds; };
  const std::uint32_t by_vector_registers =
      num_shares(kernel.num_vector_registers, gfx.num_registers, gfx.register_granule, gfx.max_waves);
  const std::uint32_t by_scalar_registers = num_shares(kernel.num_scalar_registers, generation.num_scalar_registers,
                                                       generation.scalar_register_granule, gfx.max_waves);
  // If limits are equal, the first is reported.
  Occupancy occupancy{.subgroups_per_simd = gfx.max_waves};
  const auto limit_by = [&](OccupancyLimit limit, std::uint32_t most) {
    if (most >= occupancy.subgroups_per_simd) return;
    occupancy.subgroups_per_simd = most;
    occupancy.limit = limit;
  };
  limit_by(OccupancyLimit::kWorkgroupSize, per_simd(groups_by_size));
  limit_by(OccupancyLimit::kVectorRegisters, by_vector_registers);
  limit_by(OccupancyLimit::kScalarRegisters, by_scalar_registers);
  limit_by(OccupancyLimit::kWorkgroupMemory, per_simd(groups_by_memory));
  const std::uint32_t groups_by_registers =
      std::min(by_vector_registers, by_scalar_registers) * gfx.num_simds / subgroups;
  occupancy.workgroups_per_unit = std::min(groups_by_registers, groups_by_memory);
  return occupancy;
}

}  // namespace millrace
