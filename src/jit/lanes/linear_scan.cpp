// SPDX-License-Identifier: Apache-2.0
#include "jit/lanes/linear_scan.h"

#include <algorithm>

namespace millrace {
namespace {

/// The first register from `next` on that is free, in rotation.
int take_register(std::vector<bool>& is_taken, int& next) {
  const auto count = static_cast<int>(is_taken.size());
  while (is_taken[static_cast<std::size_t>(next)]) next = (next + 1) % count;
  const int taken = next;
  is_taken[static_cast<std::size_t>(taken)] = true;
  next = (next + 1) % count;
  return taken;
}

}  // namespace

Allocation allocate_registers(std::span<const LiveRange> ranges, int num_registers) {
  Allocation allocation;
  allocation.places.resize(ranges.size());
  std::vector<bool> is_taken(static_cast<std::size_t>(num_registers), false);
  int next = 0;
  std::vector<std::size_t> active;  // the ranges that are in registers
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    std::erase_if(active, [&](std::size_t one) {
      // A value that is never read still needs its register while it is written.
      const bool has_ended = ranges[one].last <= ranges[i].first && ranges[one].first < ranges[i].first;
      if (has_ended) is_taken[static_cast<std::size_t>(allocation.places[one].number)] = false;
      return has_ended;
    });
    active.push_back(i);
    if (static_cast<int>(active.size()) <= num_registers) {
      allocation.places[i] = {take_register(is_taken, next), false};
      continue;
    }
    const auto longest = std::ranges::max_element(active, {}, [&](std::size_t one) { return ranges[one].last; });
    if (*longest != i) allocation.places[i] = allocation.places[*longest];
    allocation.places[*longest] = {allocation.num_slots++, true};
    active.erase(longest);
  }
  return allocation;
}

}  // namespace millrace
