// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/base/status.h"

namespace millrace::isa {

/// The facts by which processors differ in what their instructions do.
struct Machine {
  std::string gfx = {};
  std::uint32_t major = 0;          // 9, 10, 11, 12: the generation of the instruction set
  std::uint32_t num_lanes = 0;      // of a wave: 32 or 64
  bool has_accumulators = false;    // gfx90a, gfx942: AGPRs, behind the VGPRs
  bool has_aligned_pairs = false;   // gfx90a, gfx942: a vector operand of 64 bits or more begins at an even register
  bool has_store_counter = false;   // stores count apart from loads: from gfx10 on
  bool has_split_counters = false;  // gfx12: a counter each for loads, stores, LDS and scalar loads

  /// The bits of EXEC, and of any other mask of lanes, that mean something.
  std::uint64_t all_lanes() const { return num_lanes == 64 ? ~std::uint64_t{0} : 0xffff'ffffu; }
};

/// Fails for a processor that is not in gfx_targets().
Result<Machine> make_machine(std::string_view gfx, std::uint32_t num_lanes);

}  // namespace millrace::isa
