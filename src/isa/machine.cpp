// SPDX-License-Identifier: Apache-2.0
// Derives the properties of a processor from its name.
#include "isa/machine.h"

#include <fmt/format.h>

#include "millrace/hal/gfx_target.h"

namespace millrace::isa {

Result<Machine> make_machine(std::string_view gfx, std::uint32_t num_lanes) {
  if (find_gfx_target(gfx) == nullptr) {
    return unimplemented(fmt::format("its code is for {}, which the executor does not know", gfx));
  }
  if (num_lanes != 32 && num_lanes != 64) {
    return data_loss(fmt::format("its waves have {} lanes, expected 32 or 64", num_lanes));
  }
  // "gfx90a" is 9, "gfx1030" 10: the last two characters are the minor version and the stepping.
  const std::string_view major = gfx.substr(3, gfx.size() - 5);
  Machine machine{.gfx = std::string(gfx), .num_lanes = num_lanes};
  for (const char digit : major) machine.major = machine.major * 10 + static_cast<std::uint32_t>(digit - '0');
  machine.has_accumulators = machine.has_aligned_pairs = machine.major == 9;
  machine.has_store_counter = machine.major >= 10;
  machine.has_split_counters = machine.major >= 12;
  return machine;
}

}  // namespace millrace::isa
