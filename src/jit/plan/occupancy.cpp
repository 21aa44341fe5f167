// SPDX-License-Identifier: Apache-2.0
// Computes how many subgroups of a kernel a GPU runs at once, and which resource limits them.
#include "millrace/jit/occupancy.h"

#include <algorithm>

namespace millrace {
namespace {

struct Shares {
  std::uint64_t size = 0;  // the size of one share, before it is rounded up to the granule
  std::uint32_t total = 0;
  std::uint32_t granule = 1;
  std::uint32_t maximum = 0;
};

/// The number of shares that fit in `total`.
std::uint32_t num_shares(const Shares& shares) {
  if (shares.size == 0 || shares.total == 0) return shares.maximum;
  const std::uint64_t share = (shares.size + shares.granule - 1) / shares.granule * shares.granule;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(shares.maximum, shares.total / share));
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
  const std::uint32_t subgroups = std::max(1u, (kernel.workgroup_size + gfx.subgroup_size - 1) / gfx.subgroup_size);
  const std::uint32_t groups_by_size = gfx.max_waves * gfx.num_simds / subgroups;
  const std::uint32_t groups_by_memory = num_shares({.size = kernel.workgroup_bytes,
                                                     .total = gfx.unit_memory_bytes,
                                                     .granule = gfx.memory_granule_bytes,
                                                     .maximum = groups_by_size});
  const auto per_simd = [&](std::uint32_t groups) { return (groups * subgroups + gfx.num_simds - 1) / gfx.num_simds; };
  const std::uint32_t by_vector_registers = num_shares({.size = kernel.num_vector_registers,
                                                        .total = gfx.num_registers,
                                                        .granule = gfx.register_granule,
                                                        .maximum = gfx.max_waves});
  const std::uint32_t by_scalar_registers = num_shares({.size = kernel.num_scalar_registers,
                                                        .total = gfx.num_scalar_registers,
                                                        .granule = gfx.scalar_register_granule,
                                                        .maximum = gfx.max_waves});
  // If several limits are equal, the first is reported.
  Occupancy occupancy{.subgroups_per_simd = gfx.max_waves};
  const auto limit_by = [&](OccupancyLimit limit, std::uint32_t maximum) {
    if (maximum >= occupancy.subgroups_per_simd) return;
    occupancy.subgroups_per_simd = maximum;
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
