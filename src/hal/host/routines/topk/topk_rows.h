// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "hal/host/memory_pages.h"
#include "hal/host/routines/sort/sort_rows.h"
#include "hal/host/routines/topk/row_selector.h"
#include "hal/host/routines/topk/short_selector.h"

namespace millrace {

/// Places in workgroup memory, in bytes.
struct TopkRowsMemory {
  using Short = ShortSelector<std::int64_t>;
  using Long = RowSelector<std::int64_t>;

  explicit constexpr TopkRowsMemory(std::int64_t max_found) : capacity(max_found) {}
  /// The maximum of elements found, for any k up to `max_k`.
  static constexpr std::int64_t max_found(std::int64_t max_k) {
    return std::max((Long::max_found(max_k) + 7) / 8 * 8, 2 * Short::kMaxNumbers);
  }

  std::int64_t capacity;  // for elements found
  // What is appended to begins with a page: few of those stores straddle two.
  std::int64_t passing = round_up_to_page(SortRowsParameters::kFixedBytes);
  std::int64_t found = round_up_to_page(passing + Long::kPassingBytes);
  std::int64_t minima = (found + capacity * 8 + 63) / 64 * 64;
  std::int64_t groups = minima + Long::kMinimaBytes;
  std::int64_t keys = groups + Long::kMinimaBytes;
  std::int64_t other = keys + capacity * 8;
  std::int64_t elements = other + capacity * 8;
  std::int64_t end = elements + capacity * 8;
  /// Rows that are computed: a piece of one and what compute_some() needs, or as many short ones as are worked on at
  /// once.
  std::int64_t computed = (end + 63) / 64 * 64;
  std::int64_t computed_some = computed + RowLoader::kPieceBytes;
  static constexpr std::int64_t computed_bytes(std::int64_t max_elements, std::int64_t element_bytes) {
    const std::int64_t short_bytes =
        Short::kRowsAtOnce * short_row_bytes(std::min(max_elements, Short::kMaxElements), element_bytes);
    return std::max(RowLoader::kPieceBytes + RowLoader::kSomeBytes, short_bytes);
  }
  static constexpr std::int64_t short_row_bytes(std::int64_t n, std::int64_t element_bytes) {
    return (n * element_bytes + 63) / 64 * 64;
  }

  /// Behind them, rows that interleave in memory, at least one.
  static constexpr std::int64_t kMaxColumnBytes = 256 << 10;

  // Short rows have their minima, what is found and other numbers in the same places.
  static_assert(Short::kMinimaBytes <= Long::kMinimaBytes && Short::kMaxNumbers * 8 <= Long::kPassingBytes);
};

/// The RoutineCall::parameters of a TopK, all i64: how the elements found are sorted, by keys with indices, and how
/// they are found.
struct TopkRowsParameters {
  SortRowsParameters sort;
  std::int64_t max_found;      // of TopkRowsMemory
  std::int64_t coarse_bytes;   // of the keys by which elements are found
  std::int64_t coarse_offset;  // is added to a float's key
  std::int64_t extends_sign;   // when an element becomes an integer
  Microkernel<MakeNumberedKeys> make_numbered_keys;
  RowSelectorCode selector;
  RowSorterCode sorter;  // of coarse keys
};

}  // namespace millrace
