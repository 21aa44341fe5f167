// SPDX-License-Identifier: Apache-2.0
// Records at which timepoint each byte was read and written, so that place_barriers can find each step's earliest
// timepoint.
#include "graph/stream/access_times.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/byte_rows.h"

namespace millrace {
namespace {

/// The maximum number of symbolic ranges, and of rows, that are kept apart: each access is compared with all of them.
constexpr std::size_t kMaxSymbolic = 64, kMaxRows = 64;

bool is_constant(const ByteRange& range) {
  return range.offset_bytes.is_constant() && range.length_bytes.is_constant();
}

}  // namespace

void AccessTimes::Times::add(const Times& other) {
  write = std::max(write, other.write);
  read = std::max(read, other.read);
}

std::int64_t AccessTimes::last_conflict(const ByteRange& range, bool writes) const {
  if (range.length_bytes.upper_bound() <= 0) return -1;
  std::int64_t last = anywhere_.last_conflict(writes);
  const ByteSpan bytes{range.offset_bytes, range.offset_bytes + range.length_bytes};
  for (const TimedSpan& span : symbolic_) {
    if (span.bytes.may_overlap(bytes)) last = std::max(last, span.times.last_conflict(writes));
  }
  for (const TimedRows& rows : rows_) {
    if (may_overlap(rows.bytes, range)) last = std::max(last, rows.times.last_conflict(writes));
  }
  if (!is_constant(range)) {
    const bool overlaps = !constant_.empty() && around_constant_.bytes.may_overlap(bytes);
    return overlaps ? std::max(last, around_constant_.times.last_conflict(writes)) : last;
  }
  auto at = constant_.upper_bound(range.offset_bytes.constant());
  if (at != constant_.begin() && std::prev(at)->second.end > range.offset_bytes.constant()) --at;
  for (; at != constant_.end() && at->first < bytes.end.constant(); ++at) {
    last = std::max(last, at->second.times.last_conflict(writes));
  }
  return last;
}

void AccessTimes::add(const ByteRange& range, bool writes, std::uint32_t timepoint) {
  if (range.length_bytes.upper_bound() <= 0) return;
  Times times;
  (writes ? times.write : times.read) = timepoint;
  range.has_rows() ? add_rows({range, times}) : add(range, times, writes);
}

void AccessTimes::add(const ByteRange& range, const Times& times, bool writes) {
  const SizeExpr end = range.end_bytes();
  if (is_constant(range)) {
    add_constant(range.offset_bytes.constant(), end.constant(), times, writes);
  } else {
    add_symbolic({{range.offset_bytes, end}, times});
  }
}

/// Joins the added rows with adjacent columns that were touched at the same times.
void AccessTimes::add_rows(TimedRows added) {
  for (TimedRows& other : rows_) {
    if (other.bytes == added.bytes) return other.times.add(added.times);
  }
  const auto range_of = [&](const TimedRows& other) { return other.times == added.times ? other.bytes : ByteRange(); };
  added.bytes = take_joined(std::move(added.bytes), rows_, range_of);
  // Added as a read: adding a write would drop the other times noted for these bytes.
  if (!added.bytes.has_rows()) return add(added.bytes, added.times, false);
  rows_.push_back(std::move(added));
  if (rows_.size() <= kMaxRows) return;
  for (const TimedRows& each : rows_) anywhere_.add(each.times);
  rows_.clear();
}

void AccessTimes::split(std::int64_t at) {
  const auto after = constant_.upper_bound(at);
  if (after == constant_.begin()) return;
  const auto enclosing = std::prev(after);
  if (enclosing->first == at || enclosing->second.end <= at) return;
  constant_.emplace_hint(after, at, enclosing->second);
  enclosing->second.end = at;
}

/// Merges the intervals that the range covers into one with the latest of their times, so that few intervals remain.
/// After a write, this loses nothing: a step that waits for the write also waits for the earlier accesses. After a
/// read, later readers of one interval also wait for writes to the others, which is safe but may delay them.
void AccessTimes::add_constant(std::int64_t begin, std::int64_t end, const Times& times, bool writes) {
  const bool is_first = constant_.empty();
  auto& [enclosing, all_times] = around_constant_;
  enclosing.begin = is_first ? begin : std::min(begin, enclosing.begin.constant());
  enclosing.end = is_first ? end : std::max(end, enclosing.end.constant());
  all_times.add(times);
  split(begin);
  split(end);
  Interval merged{end, times};
  const auto first = constant_.lower_bound(begin);
  auto last = first;
  for (; last != constant_.end() && last->first < end; ++last) {
    if (!writes) merged.times.add(last->second.times);
  }
  auto at = constant_.erase(first, last);
  // Adjacent intervals that were touched at the same times become one, as for the parts of a concat.
  if (at != constant_.end() && at->first == end && at->second.times == merged.times) {
    merged.end = at->second.end;
    at = constant_.erase(at);
  }
  if (at != constant_.begin() && std::prev(at)->second.end == begin && std::prev(at)->second.times == merged.times) {
    std::prev(at)->second.end = merged.end;
  } else {
    constant_.emplace_hint(at, begin, merged);
  }
}

/// Joins the added span with adjacent spans that were touched at the same times.
void AccessTimes::add_symbolic(TimedSpan added) {
  const auto& [bytes, times] = added;
  const bool may_join = (bytes.end - bytes.begin).lower_bound() >= 0;
  for (std::size_t i = 0; i < symbolic_.size();) {
    TimedSpan& other = symbolic_[i];
    if (other.bytes.begin == bytes.begin && other.bytes.end == bytes.end) {
      other.times.add(times);
      return;
    }
    const bool is_before = other.bytes.end == bytes.begin, is_after = bytes.end == other.bytes.begin;
    if (!may_join || other.times != times || (!is_before && !is_after)) {
      ++i;
      continue;
    }
    if (is_before) {
      added.bytes.begin = std::move(other.bytes.begin);
    } else {
      added.bytes.end = std::move(other.bytes.end);
    }
    other = std::move(symbolic_.back());
    symbolic_.pop_back();
  }
  symbolic_.push_back(std::move(added));
  if (symbolic_.size() <= kMaxSymbolic) return;
  for (const TimedSpan& each : symbolic_) anywhere_.add(each.times);
  symbolic_.clear();
}

}  // namespace millrace
