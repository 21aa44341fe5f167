// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "hal/host/routines/sort/byte_counter.h"

namespace millrace {

/// Bit patterns of an element that follow each other in the order of a sort, up or down.
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
  std::int64_t stride, count;  // results behind the count are not wanted
};

/// Sorts elements of 8 or 16 bits by how many there are of each bit pattern, which takes linear time for all rows.
/// Source: Seward, "Information sorting in the application of electronic digital computers to business operations",
/// 1954.
class CountingSort {
 public:
  /// `memory` has table_bytes(), and behind them a ByteCounter's if there is code for one, which may be null.
  CountingSort(std::int64_t element_bytes, std::byte* memory, const void* entry, const ByteCounterCode* code)
      : element_bytes_(element_bytes), tables_(reinterpret_cast<std::uint32_t*>(memory)), entry_(entry), code_(code) {}

  static constexpr std::int64_t table_bytes(std::int64_t element_bytes) {
    return num_tables(element_bytes) * num_patterns(element_bytes) * std::int64_t{sizeof(std::uint32_t)};
  }
  /// Whether a row is long enough to be worth it, and short enough to be counted.
  static bool takes(std::int64_t element_bytes, std::int64_t n);
  static constexpr std::int64_t kMaxElements = std::numeric_limits<std::uint32_t>::max();
  /// The keys, twice, in whose memory rows of any length that it takes are counted, and shorter ones are sorted.
  static constexpr std::int64_t max_keys(std::int64_t element_bytes) {
    return std::max(min_elements(element_bytes), element_bytes == 1 ? ByteCounter::kMinBytes : 0);
  }

  void count(const StridedElements&);
  /// Counts every byte but 0 as 1, as bools are loaded.
  void join_truths();
  /// Writes the elements counted.
  void write(std::span<const PatternRun> runs, const StridedResults&) const;
  /// Whether there are elements of a run.
  bool has(const PatternRun&) const;

 private:
  static constexpr std::int64_t num_patterns(std::int64_t element_bytes) {
    return std::int64_t{1} << (8 * element_bytes);
  }
  /// With fewer elements, going through the patterns takes longer than sorting by vectors.
  static constexpr std::int64_t min_elements(std::int64_t element_bytes) { return 2 * num_patterns(element_bytes); }
  /// Equal neighbours are counted in different tables, so that an addition need not wait for the one before.
  static constexpr std::int64_t num_tables(std::int64_t element_bytes) { return element_bytes == 1 ? 4 : 2; }

  void count_bytes(const StridedElements&);
  template <class Element>
  void count_as(const StridedElements&);
  template <class Element>
  void write_as(std::span<const PatternRun> runs, const StridedResults&) const;
  template <class Element>
  static void write_equals(Element, std::int64_t position, std::int64_t count, const StridedResults&);

  std::int64_t element_bytes_;
  std::uint32_t* tables_;  // the first has the sums once all is counted
  const void* entry_;
  const ByteCounterCode* code_;
};

}  // namespace millrace
