// SPDX-License-Identifier: Apache-2.0
// Counts the bytes and bank conflicts of interpreted kernels.
#include "hal/sim/traffic_counter.h"

#include <algorithm>

namespace millrace {

void TrafficCounter::add(const ObservedKernel& kernel, const MemoryAccess& access, SimCounts& counts) {
  const ObservedMemory& memory = kernel.memories[access.memory];
  if (memory.kind == MemoryKind::kPrivate) return;  // registers
  std::uint64_t bytes = 0;
  for (const ThreadAccess& thread : access.threads) bytes += thread.num_elements * memory.element_bytes;
  const bool is_buffer = memory.kind == MemoryKind::kBuffer;
  if (access.kind != AccessKind::kStore) (is_buffer ? counts.buffer_bytes_read : counts.workgroup_bytes_read) += bytes;
  if (access.kind != AccessKind::kLoad) {
    (is_buffer ? counts.buffer_bytes_written : counts.workgroup_bytes_written) += bytes;
  }
  if (is_buffer) return;
  for (auto begin = access.threads.begin(); begin != access.threads.end();) {
    const std::uint32_t subgroup = begin->thread / kernel.subgroup_size;
    const auto end = std::find_if(begin, access.threads.end(), [&](const ThreadAccess& thread) {
      return thread.thread / kernel.subgroup_size != subgroup;
    });
    counts.bank_conflicts += conflicts(memory, access.kind, {begin, end});
    begin = end;
  }
}

std::uint64_t TrafficCounter::conflicts(const ObservedMemory& memory, AccessKind kind,
                                        std::span<const ThreadAccess> threads) {
  for (auto& bank : banks_) bank.clear();
  for (const ThreadAccess& thread : threads) {
    const std::uint64_t first =
        memory.offset_bytes + static_cast<std::uint64_t>(thread.first_element) * memory.element_bytes;
    const std::uint64_t last = first + thread.num_elements * memory.element_bytes - 1;
    for (std::uint64_t word = first / kWordBytes; word <= last / kWordBytes; ++word) {
      add_word(word, kind != AccessKind::kAtomic);
    }
  }
  std::uint64_t num_words = 0, cycles = 0;
  for (const auto& bank : banks_) {
    num_words += bank.size();
    cycles = std::max<std::uint64_t>(cycles, bank.size());
  }
  return cycles - (num_words + kNumBanks - 1) / kNumBanks;
}

void TrafficCounter::add_word(std::uint64_t word, bool is_shared) {
  std::vector<std::uint64_t>& bank = banks_[word % kNumBanks];
  if (is_shared && std::ranges::find(bank, word) != bank.end()) return;
  bank.push_back(word);
}

}  // namespace millrace
