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
  /// The maximum number of elements found, for any k up to `max_k`.
  static constexpr std::int64_t max_found(std::int64_t max_k) {
    return std::max((Long::max_found(max_k) + 7) / 8 * 8, 2 * Short::kMaxNumbers);
  }

  std::int64_t capacity;  // for elements found
  // Arrays to which elements are appended start at a page boundary, so that few stores straddle two pages.
  std::int64_t passing = round_up_to_page(SortRowsParameters::kFixedBytes);
  std::int64_t found = round_up_to_page(passing + Long::kPassingBytes);
  std::int64_t minima = (found + capacity * 8 + 63) / 64 * 64;
  std::int64_t groups = minima + Long::kMinimaBytes;
  std::int64_t keys = groups + Long::kMinimaBytes;
  std::int64_t other = keys + capacity * 8;
  std::int64_t elements = other + capacity * 8;
  std::int64_t end = elements + capacity * 8;
  /// For computed rows: a piece of one row and the memory of compute_some(), or all current short rows.
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

  /// Memory after all of these arrays, for rows that interleave in memory; it holds at least one row.
  static constexpr std::int64_t kMaxColumnBytes = 256 << 10;

  // Short rows use the same places for their minima, found elements and other numbers.
  static_assert(Short::kMinimaBytes <= Long::kMinimaBytes && Short::kMaxNumbers * 8 <= Long::kPassingBytes);
};

/// The RoutineCall::parameters of a TopK, all i64. `sort` has the parameters for sorting the elements found, by keys
/// with indices; the others are for finding them.
struct TopkRowsParameters {
  SortRowsParameters sort;
  std::int64_t max_found;      // of TopkRowsMemory
  std::int64_t coarse_bytes;   // the size of the keys by which elements are found
  std::int64_t coarse_offset;  // added to a float's key
  std::int64_t extends_sign;   // whether an element is sign-extended to an integer
  Microkernel<MakeNumberedKeys> make_numbered_keys;
  RowSelectorCode selector;
  RowSorterCode sorter;  // of coarse keys
};

}  // namespace millrace
