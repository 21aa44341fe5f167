// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace millrace {

/// The instruction family: CDNA keeps the instructions of GCN.
enum class GfxGeneration : std::uint8_t { kCdna, kRdna };

/// An AMD GPU architecture for which code is generated: a row of the table in src/hal/gfx_target.cpp. On RDNA all
/// numbers are for wave32 in CU mode, which is how kernels are compiled.
struct GfxTarget {
  std::string_view name;  // "gfx1100", as LLVM calls the processor
  GfxGeneration generation;
  std::uint32_t subgroup_size;            // threads that run in lockstep (a wave)
  std::uint32_t max_workgroup_size;       // threads
  std::uint32_t workgroup_memory_bytes;   // maximum per workgroup (LDS)
  std::uint32_t private_memory_bytes;     // maximum per thread: the registers that it can address
  std::uint32_t num_registers;            // vector registers of one SIMD, shared by its waves
  std::uint32_t register_granule;         // a wave is given a multiple of these
  std::uint32_t num_scalar_registers;     // of one SIMD, shared by its waves; 0: each wave has the maximum
  std::uint32_t scalar_register_granule;  // a wave is given a multiple of these
  std::uint32_t max_waves;                // maximum on one SIMD at a time
  std::uint32_t num_simds;                // of one compute unit
  std::uint32_t unit_memory_bytes;        // LDS of one compute unit, shared by its workgroups
  std::uint32_t memory_granule_bytes;     // a workgroup gets a multiple of this
};

std::span<const GfxTarget> gfx_targets();
/// Null if there is no target with this name.
const GfxTarget* find_gfx_target(std::string_view name);

}  // namespace millrace
