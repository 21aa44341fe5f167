// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/jit/code_object.h"

namespace millrace {

/// What of a kernel keeps more of it from running at a time.
enum class OccupancyLimit : std::uint8_t {
  kNothing,  // the SIMDs hold no more
  kVectorRegisters,
  kScalarRegisters,
  kWorkgroupMemory,
  kWorkgroupSize,  // the SIMDs hold more, but not another workgroup whole
};
/// "nothing", "vector registers", ...
std::string_view to_text(OccupancyLimit);

/// How much of a kernel a GPU runs at a time, when there is enough of it.
struct Occupancy {
  /// That each resource leaves room for; of the fullest SIMD, where a workgroup's do not divide evenly. As LLVM counts
  /// ("; Occupancy" in its assembly), but that workgroup memory is given by the granule, and so are scalar registers:
  /// CDNA's 97 to 100 are 112 of 800.
  std::uint32_t subgroups_per_simd = 0;
  std::uint32_t workgroups_per_unit = 0;            // whole ones in a compute unit; 0: the kernel cannot be launched
  OccupancyLimit limit = OccupancyLimit::kNothing;  // of subgroups_per_simd
  friend bool operator==(const Occupancy&, const Occupancy&) = default;
};

/// From a kernel's registers, workgroup memory and workgroup size.
Occupancy occupancy_of(const CodeObjectKernel&, const GfxTarget&);

}  // namespace millrace
