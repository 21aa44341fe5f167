// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "hal/host/routines/sort/byte_counter.h"

namespace millrace {

/// Bit patterns from `first` to `last`, which are consecutive in the order of a sort. `first` may be the greater one.
struct PatternRun {
  std::int64_t first, last;
};
inline constexpr std::size_t kMaxPatternRuns = 6;

/// Elements in memory; the stride is in elements. Without data, a RowLoader computes them (row_loader.h).
struct StridedElements {
  const std::byte* data;
  std::int64_t stride, count;
};
struct StridedResults {
  std::byte* data;
  std::int64_t stride, count;  // results after `count` are not wanted
};

/// Sorts elements of 8 or 16 bits by counting each bit pattern, in linear time for every row.
/// Source: Seward, "Information sorting in the application of electronic digital computers to business operations",
/// 1954.
class CountingSort {
 public:
  /// `memory` has table_bytes(), followed by kMemoryBytes of a ByteCounter if `code` is not null.
  CountingSort(std::int64_t element_bytes, std::byte* memory, const void* entry, const ByteCounterCode* code)
      : element_bytes_(element_bytes), tables_(reinterpret_cast<std::uint32_t*>(memory)), entry_(entry), code_(code) {}

  static constexpr std::int64_t table_bytes(std::int64_t element_bytes) {
    return num_tables(element_bytes) * num_patterns(element_bytes) * std::int64_t{sizeof(std::uint32_t)};
  }
  /// Whether counting pays off for a row of n elements, and the counts fit 32 bits.
  static bool takes(std::int64_t element_bytes, std::int64_t n);
  static constexpr std::int64_t kMaxElements = std::numeric_limits<std::uint32_t>::max();
  /// The memory of twice this many keys is enough to count any row that takes() accepts, and to sort shorter rows.
  static constexpr std::int64_t max_keys(std::int64_t element_bytes) {
    return std::max(min_elements(element_bytes), element_bytes == 1 ? ByteCounter::kMinBytes : 0);
  }

  void count(const StridedElements&);
  /// Adds the counts of all bytes other than 0 to the count of 1: a bool in memory is true if its byte is not 0.
  void join_truths();
  /// Writes the counted elements whose patterns are in the runs, in the order of the runs.
  void write(std::span<const PatternRun> runs, const StridedResults&) const;
  /// Whether the pattern of any counted element is in the run.
  bool has(const PatternRun&) const;

 private:
  static constexpr std::int64_t num_patterns(std::int64_t element_bytes) {
    return std::int64_t{1} << (8 * element_bytes);
  }
  /// The minimum length of a row. For fewer elements, iterating over the patterns takes longer than sorting by vectors.
  static constexpr std::int64_t min_elements(std::int64_t element_bytes) { return 2 * num_patterns(element_bytes); }
  /// The number of tables. Neighbouring elements are counted in different tables, so that equal neighbours need not
  /// wait for each other's additions.
  static constexpr std::int64_t num_tables(std::int64_t element_bytes) { return element_bytes == 1 ? 4 : 2; }

  void count_bytes(const StridedElements&);
  template <class Element>
  void count_as(const StridedElements&);
  template <class Element>
  void write_as(std::span<const PatternRun> runs, const StridedResults&) const;
  template <class Element>
  static void write_equals(Element, std::int64_t position, std::int64_t count, const StridedResults&);

  std::int64_t element_bytes_;
  std::uint32_t* tables_;  // after count(), the first table has the sums of all tables
  const void* entry_;
  const ByteCounterCode* code_;
};

}  // namespace millrace
