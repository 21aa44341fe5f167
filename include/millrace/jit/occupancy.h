// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/jit/code_object.h"

namespace millrace {

/// The resource that limits how many subgroups run at once.
enum class OccupancyLimit : std::uint8_t {
  kNothing,  // the SIMDs are full
  kVectorRegisters,
  kScalarRegisters,
  kWorkgroupMemory,
  kWorkgroupSize,  // the SIMDs have room, but not for another whole workgroup
};
/// "nothing", "vector registers", ...
std::string_view to_text(OccupancyLimit);

/// How many subgroups and workgroups of a kernel a GPU runs at once, given enough work.
struct Occupancy {
  /// The number of subgroups for which every resource suffices. If a workgroup's subgroups do not divide evenly among
  /// the SIMDs, this is the number on the fullest SIMD. Computed as LLVM does ("; Occupancy" in its assembly), except
  /// that workgroup memory and scalar registers are allocated in granules: on CDNA, 97 to 100 scalar registers take 112
  /// of 800.
  std::uint32_t subgroups_per_simd = 0;
  std::uint32_t workgroups_per_unit = 0;  // whole workgroups per compute unit; 0: the kernel cannot be launched
  OccupancyLimit limit = OccupancyLimit::kNothing;  // the resource that limits subgroups_per_simd
  friend bool operator==(const Occupancy&, const Occupancy&) = default;
};

/// Computes the occupancy from a kernel's registers, workgroup memory and workgroup size.
Occupancy occupancy_of(const CodeObjectKernel&, const GfxTarget&);

}  // namespace millrace
