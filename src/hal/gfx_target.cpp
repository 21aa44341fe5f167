// SPDX-License-Identifier: Apache-2.0
#include "millrace/hal/gfx_target.h"

namespace millrace {
namespace {

constexpr std::uint32_t kMemory = 64 * 1024;
constexpr std::uint32_t kPrivate = 256 * 4;

// Source: LLVM's AMDGPUBaseInfo (granules, registers, waves); the ISA documents (SIMDs, LDS).
constexpr GfxTarget kTargets[] = {
    // name, subgroup, workgroup, LDS of a workgroup, registers of a thread, registers of a SIMD, granule, waves, SIMDs,
    // LDS of a unit
    {"gfx90a", 64, 1024, kMemory, kPrivate, 512, 8, 8, 4, kMemory},
    {"gfx942", 64, 1024, kMemory, kPrivate, 512, 8, 8, 4, kMemory},
    {"gfx1030", 32, 1024, kMemory, kPrivate, 1024, 16, 16, 2, kMemory},
    {"gfx1100", 32, 1024, kMemory, kPrivate, 1536, 24, 16, 2, kMemory},
    {"gfx1151", 32, 1024, kMemory, kPrivate, 1536, 24, 16, 2, kMemory},
    {"gfx1201", 32, 1024, kMemory, kPrivate, 1536, 24, 16, 2, kMemory},
};

}  // namespace

std::span<const GfxTarget> gfx_targets() { return kTargets; }

const GfxTarget* find_gfx_target(std::string_view name) {
  for (const GfxTarget& target : kTargets) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

}  // namespace millrace
