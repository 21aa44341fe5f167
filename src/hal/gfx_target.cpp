// SPDX-License-Identifier: Apache-2.0
// The table of AMD GPU architectures, which planners, code generators and simulators read.
#include "millrace/hal/gfx_target.h"

namespace millrace {
namespace {

constexpr std::uint32_t kMemory = 64 * 1024;
constexpr std::uint32_t kPrivate = 256 * 4;

constexpr auto kCdna = GfxGeneration::kCdna, kRdna = GfxGeneration::kRdna;

// Sources: LLVM's AMDGPUBaseInfo (vector registers, their granules, waves); LLVM's AMDGPUUsage, COMPUTE_PGM_RSRC1, and
// Mesa's ac_gpu_info (scalar registers, and the granules of scalar registers and LDS); the ISA documents (SIMDs, LDS).
constexpr GfxTarget kTargets[] = {
    // name, generation, subgroup size, maximum workgroup size, LDS of a workgroup, registers of a thread, registers of
    // a SIMD, their granule, scalar registers of a SIMD, their granule, waves of a SIMD, SIMDs of a unit, LDS of a
    // unit, its granule
    {"gfx90a", kCdna, 64, 1024, kMemory, kPrivate, 512, 8, 800, 16, 8, 4, kMemory, 512},
    {"gfx942", kCdna, 64, 1024, kMemory, kPrivate, 512, 8, 800, 16, 8, 4, kMemory, 512},
    {"gfx1030", kRdna, 32, 1024, kMemory, kPrivate, 1024, 16, 0, 1, 16, 2, kMemory, 1024},
    {"gfx1100", kRdna, 32, 1024, kMemory, kPrivate, 1536, 24, 0, 1, 16, 2, kMemory, 1024},
    {"gfx1151", kRdna, 32, 1024, kMemory, kPrivate, 1536, 24, 0, 1, 16, 2, kMemory, 1024},
    {"gfx1201", kRdna, 32, 1024, kMemory, kPrivate, 1536, 24, 0, 1, 16, 2, kMemory, 1024},
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
