// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/byte_rows.h"
#include "base/byte_span.h"
#include "base/interval_set.h"
#include "millrace/base/byte_range.h"

namespace millrace {

/// A set of bytes, made of ranges whose offsets may be expressions. It may report bytes that were never added, but
/// never misses one. Each operation is O(log ranges) for constant ranges, and linear in the number of symbolic ranges
/// and of ranges with gaps between their rows.
class ByteSet {
 public:
  bool may_overlap(const ByteRange& range) const {
    const SizeExpr &offset = range.offset_bytes, &length = range.length_bytes;
    if (length.upper_bound() <= 0) return false;
    if (has_unbounded_ || leaves_int64(offset, length)) return true;
    const std::optional<std::int64_t> end = constant_end(offset, length);
    if (end && constants_.overlaps(offset.constant(), *end)) return true;
    const ByteSpan span{offset, offset + length};
    if (!end && !constants_.empty() && span.may_overlap({min_offset_, max_offset_})) return true;
    if (std::ranges::any_of(rows_, [&](const ByteRange& other) { return millrace::may_overlap(range, other); }))
      return true;
    return std::ranges::any_of(symbolic_, [&](const ByteSpan& other) { return span.may_overlap(other); });
  }

  void add(const ByteRange& range) {
    if (range.has_rows()) return add_rows(range);
    const SizeExpr &offset = range.offset_bytes, &length = range.length_bytes;
    if (length.upper_bound() <= 0) return;
    if (leaves_int64(offset, length)) {
      has_unbounded_ = true;
      return;
    }
    const std::optional<std::int64_t> end = constant_end(offset, length);
    if (!end) return add_symbolic({offset, offset + length}, length.lower_bound() >= 0);
    constants_.insert(offset.constant(), *end);
    min_offset_ = std::min(min_offset_, offset.constant());
    max_offset_ = std::max(max_offset_, *end);
  }

 private:
  /// The end of a range whose offset and length are constants; empty for other ranges.
  static std::optional<std::int64_t> constant_end(const SizeExpr& offset, const SizeExpr& length) {
    if (!offset.is_constant() || !length.is_constant()) return {};
    return offset.constant() + length.constant();
  }

  static bool leaves_int64(const SizeExpr& offset, const SizeExpr& length) {
    std::int64_t end = 0;
    return offset.is_constant() && length.is_constant() &&
           __builtin_add_overflow(offset.constant(), length.constant(), &end);
  }

  /// Merges adjacent ranges, so that contiguous data stay a single span.
  void add_symbolic(ByteSpan span, bool may_grow) {
    for (std::size_t i = 0; may_grow && i < symbolic_.size();) {
      ByteSpan& other = symbolic_[i];
      if (other.begin == span.begin && other.end == span.end) return;
      if (other.end == span.begin) {
        span.begin = std::move(other.begin);
      } else if (span.end == other.begin) {
        span.end = std::move(other.end);
      } else {
        ++i;
        continue;
      }
      other = std::move(symbolic_.back());
      symbolic_.pop_back();
    }
    symbolic_.push_back(std::move(span));
  }

  void add_rows(const ByteRange& range) {
    const ByteRange joined = take_joined(range, rows_, [](const ByteRange& other) { return other; });
    if (!joined.has_rows()) return add(joined);
    if (std::ranges::find(rows_, joined) == rows_.end()) rows_.push_back(joined);
  }

  IntervalSet constants_;
  std::int64_t min_offset_ = std::numeric_limits<std::int64_t>::max();  // smallest begin in `constants_`
  std::int64_t max_offset_ = std::numeric_limits<std::int64_t>::min();  // largest end in `constants_`
  std::vector<ByteSpan> symbolic_;
  std::vector<ByteRange> rows_;
  bool has_unbounded_ = false;
};

}  // namespace millrace
