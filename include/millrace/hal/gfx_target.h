// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace millrace {

/// What instructions there are: CDNA keeps those of GCN.
enum class GfxGeneration : std::uint8_t { kCdna, kRdna };

/// An AMD GPU architecture that code is generated for: a row of the one table of them (src/hal/gfx_target.cpp).
/// On RDNA all figures are those of wave32 in CU mode, which is how kernels are compiled.
struct GfxTarget {
  std::string_view name;  // "gfx1100", as LLVM calls the processor
  GfxGeneration generation;
  std::uint32_t subgroup_size;            // threads that run in step (a wave)
  std::uint32_t max_workgroup_size;       // threads
  std::uint32_t workgroup_memory_bytes;   // maximum of one workgroup (LDS)
  std::uint32_t private_memory_bytes;     // maximum of one thread: the registers that it can name
  std::uint32_t num_registers;            // vector registers of one SIMD, which its waves share
  std::uint32_t register_granule;         // a wave is given a multiple of these
  std::uint32_t num_scalar_registers;     // of one SIMD, which its waves share; 0: each has all that it can name
  std::uint32_t scalar_register_granule;  // a wave is given a multiple of these
  std::uint32_t max_waves;                // on one SIMD at a time
  std::uint32_t num_simds;                // of one compute unit
  std::uint32_t unit_memory_bytes;        // LDS of one compute unit, which its workgroups share
  std::uint32_t memory_granule_bytes;     // a workgroup is given a multiple of these
};

std::span<const GfxTarget> gfx_targets();
/// Null when there is none of this name.
const GfxTarget* find_gfx_target(std::string_view name);

}  // namespace millrace
