// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/byte_span.h"
#include "millrace/base/byte_range.h"

namespace millrace {

/// When each byte of one resource was last written and last read, so far in the schedule. An access of a constant range
/// costs O(log n), amortised. A limited number of symbolic ranges, and of rows with gaps between them, is kept apart;
/// beyond it, they count as the whole resource.
class AccessTimes {
 public:
  /// The last timepoint that an access to these bytes must come after; -1 if there is none.
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
  /// Divides the interval around `at`, if one contains it and does not begin there.
  void split(std::int64_t at);
  void add(const ByteRange&, const Times&, bool writes);
  void add_rows(TimedRows);
  void add_constant(std::int64_t begin, std::int64_t end, const Times&, bool writes);
  void add_symbolic(TimedSpan);

  std::map<std::int64_t, Interval> constant_;  // by begin; disjoint
  TimedSpan around_constant_;                  // from the first to the last of them
  std::vector<TimedSpan> symbolic_;
  std::vector<TimedRows> rows_;
  Times anywhere_;  // of ranges that are no longer kept apart
};

}  // namespace millrace
