// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "hal/isa/vector.h"

namespace millrace::isa {

/// Counts the extra cycles of one instruction on workgroup memory, as SimCounts::bank_conflicts is defined: 32 banks of
/// 4 bytes serve a word each per cycle; lanes share a word, except for atomics.
class BankConflicts {
 public:
  void add(const Lanes<std::uint64_t>& addresses, std::uint64_t lanes, std::uint32_t num_bytes, bool is_shared) {
    std::uint32_t before = UINT32_MAX;
    for (; lanes != 0; lanes &= lanes - 1) {
      const auto first = static_cast<std::uint32_t>(addresses.values[std::countr_zero(lanes)]);
      if (is_shared && std::exchange(before, first) == first) continue;  // neighbours often read one place together
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
  static constexpr std::size_t kMostWords = kMaxLanes * 5;  // b128, not aligned
  std::array<std::array<std::uint32_t, kMostWords>, kNumBanks> banks_;
  std::array<std::uint32_t, kNumBanks> num_ = {};
  std::uint32_t num_words_ = 0;
};

}  // namespace millrace::isa
