// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/base/status.h"

namespace millrace::isa {

/// The facts about a processor that change what its instructions do.
struct Machine {
  std::string gfx = {};
  std::uint32_t major = 0;          // 9, 10, 11, 12: the generation of the instruction set
  std::uint32_t num_lanes = 0;      // 32 or 64: the lanes of a wave
  bool has_accumulators = false;    // gfx90a, gfx942: AGPRs, after the VGPRs
  bool has_aligned_pairs = false;   // gfx90a, gfx942: vector operands of 64 or more bits begin at even registers
  bool has_store_counter = false;   // gfx10 and later: stores have their own counter
  bool has_split_counters = false;  // gfx12: separate counters for loads, stores, LDS and scalar loads

  /// The bits that have a meaning in EXEC and in any other mask of lanes.
  std::uint64_t all_lanes() const { return num_lanes == 64 ? ~std::uint64_t{0} : 0xffff'ffffu; }
};

/// Fails for a processor that is not in gfx_targets().
Result<Machine> make_machine(std::string_view gfx, std::uint32_t num_lanes);

}  // namespace millrace::isa
