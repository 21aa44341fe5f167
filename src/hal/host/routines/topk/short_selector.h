// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hal/host/routines/topk/row_selector.h"

namespace millrace {

/// Finds slightly more than k elements of a row that include the first k, for rows that stay in the L1 cache. If k
/// groups have a key up to a bound, no element beyond the bound is among the first k. Each step runs for several rows,
/// because the instructions of a single row wait for each other.
template <class Key>
class ShortSelector {
 public:
  static constexpr std::int64_t kMaxElements = 2048;
  static constexpr std::int64_t kRowsAtOnce = 16;
  static constexpr std::int64_t kMinimaBytes = kRowsAtOnce * (64 << (RowSorterCode::kNumNetworks - 1));
  /// The room for element indices, with space after them because whole vectors are appended.
  static constexpr std::int64_t kMaxNumbers = kMaxElements + 16;

  struct Memory {
    Key* minima;  // kMinimaBytes
    Key* others;  // kMaxNumbers
  };

  /// Whether rows of n elements are short enough and have enough groups. Precondition: k >= 1.
  static constexpr bool takes(std::int64_t n, std::int64_t k, std::int64_t num_lanes) {
    return n <= kMaxElements && network_of(k, num_lanes) < RowSorterCode::kNumNetworks;
  }
  /// The index of the functions that find and sort the groups' minima: 0 for 1 vector, 1 for 2, 2 for 4, and so on.
  /// There are at least 2 * k groups, so only slightly more than k elements have keys up to the k-th smallest minimum.
  static constexpr std::size_t network_of(std::int64_t k, std::int64_t num_lanes) {
    return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>((2 * k - 1) / num_lanes)));
  }

  ShortSelector(const void* entry, const RowSelectorCode& code, const RowSorterCode& sorter, const Memory& memory,
                std::int64_t n, std::int64_t k)
      : memory_(memory),
        n_(n),
        k_(k),
        num_minima_(code.num_lanes << network_of(k, code.num_lanes)),
        find_group_minima_(code.find_group_minima[network_of(k, code.num_lanes)].at(entry)),
        sort_in_registers_(sorter.sort_in_registers[network_of(k, code.num_lanes)].at(entry)),
        filter_row_(code.filter_row.at(entry)) {}

  /// The first two steps, for row `i` of the current rows.
  void find_minima(std::int64_t i, const std::byte* row) { find_group_minima_(row, minima_of(i), n_); }
  void sort_minima(std::int64_t i) { sort_in_registers_(minima_of(i), minima_of(i), num_minima_); }
  Key bound_of(std::int64_t i) const { return minima_of(i)[k_ - 1]; }

  /// Writes the indices of the elements that may be among the first k, and returns how many there are, at least k.
  /// Equal elements keep their order. `bound` spans the keys that the sort treats as equal to the row's bound_of().
  /// `numbers` has room for kMaxNumbers.
  std::int64_t find(const std::byte* row, const KeyRun<Key>& bound, Key* numbers) const {
    const std::int64_t num_found = filter(row, bound.last, numbers);
    if (num_found <= kManyPerResult * k_) return num_found;
    // Keep the elements before the bound, then elements equal to it until there are k.
    std::int64_t num_before = 0;
    if (bound.first != std::numeric_limits<Key>::min()) {
      num_before = filter(row, static_cast<Key>(bound.first - 1), memory_.others);
    }
    std::int64_t count = num_before;
    for (std::int64_t i = 0, next_before = 0; count < k_; ++i) {
      if (next_before < num_before && memory_.others[next_before] == numbers[i]) {
        ++next_before;
      } else {
        memory_.others[count++] = numbers[i];
      }
    }
    std::copy_n(memory_.others, count, numbers);
    return count;
  }

 private:
  /// With more elements per result than this, many are likely to be equal to the bound.
  static constexpr std::int64_t kManyPerResult = 4;

  Key* minima_of(std::int64_t i) const { return memory_.minima + i * num_minima_; }
  /// Writes the indices of the elements with keys up to the limit. Returns how many there are.
  std::int64_t filter(const std::byte* row, Key limit, Key* numbers) const {
    return reinterpret_cast<const Key*>(filter_row_(row, numbers, n_, 0, limit)) - numbers;
  }

  Memory memory_;
  std::int64_t n_, k_, num_minima_;  // num_minima_: groups per row
  FindGroupMinima find_group_minima_;
  SortInRegisters sort_in_registers_;
  FilterKeys filter_row_;
};

}  // namespace millrace
