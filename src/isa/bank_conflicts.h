// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "isa/instructions/vector.h"

namespace millrace::isa {

/// Counts the extra cycles of one instruction on workgroup memory, as SimCounts::bank_conflicts defines them: 32 banks
/// of 4 bytes serve one word each per cycle; lanes share a word, except for atomics.
class BankConflicts {
 public:
  void add(const Lanes<std::uint64_t>& addresses, std::uint64_t lanes, std::uint32_t num_bytes, bool is_shared) {
    std::uint32_t before = UINT32_MAX;
    for (; lanes != 0; lanes &= lanes - 1) {
      const auto first = static_cast<std::uint32_t>(addresses.values[std::countr_zero(lanes)]);
      if (is_shared && std::exchange(before, first) == first) continue;  // adjacent lanes often read the same place
      const std::uint32_t last = (first + num_bytes - 1) / kWordBytes;
      for (std::uint32_t word = first / kWordBytes; word <= last; ++word) add_word(word, is_shared);
    }
  }

  std::uint64_t extra_cycles() const {
    const std::uint32_t cycles = *std::ranges::max_element(num_);
    return cycles - (num_words_ + kNumBanks - 1) / kNumBanks;
  }

 private:
  void add_word(std::uint32_t word, bool is_shared) {
    auto& words = banks_[word % kNumBanks];
    std::uint32_t& num = num_[word % kNumBanks];
    if (is_shared) {
      for (std::uint32_t i = num; i > 0; --i) {
        if (words[i - 1] == word) return;
      }
    }
    words[num++] = word;
    ++num_words_;
  }

  static constexpr std::uint32_t kNumBanks = 32, kWordBytes = 4;
  static constexpr std::size_t kMaxWords = kMaxLanes * 5;  // b128, not aligned
  std::array<std::array<std::uint32_t, kMaxWords>, kNumBanks> banks_;
  std::array<std::uint32_t, kNumBanks> num_ = {};
  std::uint32_t num_words_ = 0;
};

/// Counts the extra cycles of a dispatch's instructions. Remembers the cost of an instruction's last execution: in a
/// loop, the addresses usually differ only by a common offset. An offset of whole words does not change the cost.
class BankConflictMemo {
 public:
  /// `second`: the second address per lane of a two-address instruction; otherwise null.
  std::uint64_t extra_cycles(const Instruction& instruction, std::uint64_t lanes, const Lanes<std::uint64_t>& addresses,
                             const Lanes<std::uint64_t>* second, std::uint32_t num_bytes, bool is_shared) {
    if (lanes == 0) return 0;
    if (entries_.empty()) entries_.resize(kNumEntries);
    Entry& entry = entries_[instruction.address / 4 % kNumEntries];
    const auto base = static_cast<std::uint32_t>(addresses.values[std::countr_zero(lanes)]);
    const bool is_known = entry.instruction == &instruction && entry.lanes == lanes && (entry.base - base) % 4 == 0 &&
                          is_moved(addresses, lanes, base - entry.base, entry.first) &&
                          (second == nullptr || is_moved(*second, lanes, base - entry.base, entry.second));
    if (is_known) return entry.cycles;
    BankConflicts conflicts;
    conflicts.add(addresses, lanes, num_bytes, is_shared);
    if (second != nullptr) conflicts.add(*second, lanes, num_bytes, is_shared);
    entry.instruction = &instruction;
    entry.lanes = lanes;
    entry.base = base;
    entry.cycles = conflicts.extra_cycles();
    keep(addresses, lanes, entry.first);
    if (second != nullptr) keep(*second, lanes, entry.second);
    return entry.cycles;
  }

 private:
  using Offsets = std::array<std::uint32_t, kMaxLanes>;
  struct Entry {
    const Instruction* instruction = nullptr;
    std::uint64_t lanes = 0, cycles = 0;
    std::uint32_t base = 0;
    Offsets first, second;
  };

  static void keep(const Lanes<std::uint64_t>& addresses, std::uint64_t lanes, Offsets& offsets) {
    for (; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
      offsets[lane] = static_cast<std::uint32_t>(addresses.values[lane]);
    }
  }
  /// Whether all lanes' addresses are the remembered ones plus `distance`.
  static bool is_moved(const Lanes<std::uint64_t>& addresses, std::uint64_t lanes, std::uint32_t distance,
                       const Offsets& kept) {
    std::uint32_t difference = 0;
    if (~lanes == 0) {
      for (std::uint32_t i = 0; i < kMaxLanes; ++i) {
        difference |= static_cast<std::uint32_t>(addresses.values[i]) ^ (kept[i] + distance);
      }
      return difference == 0;
    }
    for (; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
      difference |= static_cast<std::uint32_t>(addresses.values[lane]) ^ (kept[lane] + distance);
    }
    return difference == 0;
  }

  static constexpr std::size_t kNumEntries = 128;
  std::vector<Entry> entries_;
};

}  // namespace millrace::isa
