// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "millrace/hal/memory_observer.h"
#include "millrace/hal/sim_device.h"

namespace millrace {

/// Counts accesses to memory.
class TrafficCounter {
 public:
  void add(const ObservedKernel&, const MemoryAccess&, SimCounts&);

 private:
  /// Returns the bank conflicts of one instruction of a subgroup.
  std::uint64_t conflicts(const ObservedMemory&, AccessKind, std::span<const ThreadAccess>);
  void add_word(std::uint64_t word, bool is_shared);

  static constexpr std::uint64_t kNumBanks = 32;
  static constexpr std::uint64_t kWordBytes = 4;
  std::array<std::vector<std::uint64_t>, kNumBanks> banks_;  // the words that each bank serves
};

}  // namespace millrace
