// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "hal/host/routines/row_selector.h"

namespace millrace {

/// Microkernels for the keys of one dtype. Those for 1, 2, 4, 8 and 16 vectors may be absent where k is known.
struct ShortSelectorCode {
  std::array<FindGroupMinima, RowSorterCode::kNumFew> find_group_minima;
  std::array<SortFew, RowSorterCode::kNumFew> sort_few;
  FilterKeys filter_row;
  std::int64_t num_lanes;
};

/// Finds a few elements of rows that stay in the L1 cache, that have the first k among them. If k groups of elements
/// have a key up to a bound, no element beyond it is among the first k. Steps are done for a few rows each, because the
/// instructions of one row wait for each other.
template <class Key>
class ShortSelector {
 public:
  static constexpr std::int64_t kMostElements = 2048;
  static constexpr std::int64_t kRowsAtOnce = 16;
  static constexpr std::int64_t kMinimaBytes = kRowsAtOnce * (64 << (RowSorterCode::kNumFew - 1));
  /// Numbers of elements need this room, because vectors are appended whole.
  static constexpr std::int64_t kMostNumbers = kMostElements + 16;

  struct Memory {
    Key* minima;  // kMinimaBytes
    Key* others;  // kMostNumbers
  };

  /// Whether rows of n elements are short, and have enough groups for the first k, which are at least one.
  static constexpr bool takes(std::int64_t n, std::int64_t k, std::int64_t num_lanes) {
    return n <= kMostElements && few_of(k, num_lanes) < RowSorterCode::kNumFew;
  }
  /// Which of the functions for 1, 2, 4, ... vectors find and sort the minima: there are at least two groups per
  /// result, so that few more elements than k have keys up to the k-th group's.
  static constexpr std::size_t few_of(std::int64_t k, std::int64_t num_lanes) {
    return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>((2 * k - 1) / num_lanes)));
  }

  ShortSelector(const ShortSelectorCode& code, const Memory& memory, std::int64_t n, std::int64_t k)
      : code_(code), memory_(memory), n_(n), k_(k), few_(few_of(k, code.num_lanes)) {}

  /// The first two steps for row `i` of those at once.
  void find_minima(std::int64_t i, const std::byte* row) { code_.find_group_minima[few_](row, minima_of(i), n_); }
  void sort_minima(std::int64_t i) { code_.sort_few[few_](minima_of(i), minima_of(i), code_.num_lanes << few_); }
  Key bound_of(std::int64_t i) const { return minima_of(i)[k_ - 1]; }

  /// Writes the numbers of the elements that may be among the first k; those of equal elements are in order. Takes the
  /// keys that are equal to the bound in the order of the sort. `numbers` has room for kMostNumbers. Returns how many
  /// there are, at least k.
  std::int64_t find(const std::byte* row, const KeyRun<Key>& bound, Key* numbers);

 private:
  Key* minima_of(std::int64_t i) const { return memory_.minima + i * (code_.num_lanes << few_); }
  /// Writes the numbers of the elements with keys up to the limit. Returns how many there are.
  std::int64_t filter(const std::byte* row, Key limit, Key* numbers) const;

  const ShortSelectorCode& code_;
  Memory memory_;
  std::int64_t n_, k_;
  std::size_t few_;
};

extern template class ShortSelector<std::int32_t>;
extern template class ShortSelector<std::int64_t>;

}  // namespace millrace
