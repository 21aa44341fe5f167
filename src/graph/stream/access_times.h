// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/byte_span.h"
#include "millrace/base/byte_range.h"

namespace millrace {

/// The timepoint at which each byte of one resource was last written and last read, so far in the schedule. An access
/// to a constant range takes O(log n), amortised. Up to a limit, symbolic ranges and rows with gaps are kept apart;
/// beyond it, they count as the whole resource.
class AccessTimes {
 public:
  /// The last timepoint that an access to these bytes must follow; -1 if there is none.
  std::int64_t last_conflict(const ByteRange&, bool writes) const;
  void add(const ByteRange&, bool writes, std::uint32_t timepoint);

 private:
  struct Times {
    std::int64_t write = -1, read = -1;
    std::int64_t last_conflict(bool writes) const { return writes && read > write ? read : write; }
    void add(const Times&);
    friend bool operator==(const Times&, const Times&) = default;
  };
  struct Interval {
    std::int64_t end = 0;
    Times times;
  };
  struct TimedSpan {
    ByteSpan bytes;
    Times times;
  };
  struct TimedRows {
    ByteRange bytes;
    Times times;
  };
  /// Splits the interval that contains `at`, unless it begins there.
  void split(std::int64_t at);
  void add(const ByteRange&, const Times&, bool writes);
  void add_rows(TimedRows);
  void add_constant(std::int64_t begin, std::int64_t end, const Times&, bool writes);
  void add_symbolic(TimedSpan);

  std::map<std::int64_t, Interval> constant_;  // keyed by begin; disjoint
  TimedSpan around_constant_;                  // covers all intervals of `constant_`
  std::vector<TimedSpan> symbolic_;
  std::vector<TimedRows> rows_;
  Times anywhere_;  // for ranges that are no longer kept apart
};

}  // namespace millrace
