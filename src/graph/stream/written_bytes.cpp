// SPDX-License-Identifier: Apache-2.0
// Proves that a step reads only bytes that earlier steps have written, for verify(Schedule).
#include "graph/stream/written_bytes.h"

#include <algorithm>
#include <utility>

#include "base/byte_rows.h"
#include "base/size_expr/never_negative.h"

namespace millrace {
namespace {

bool is_constant(const ByteRange& range) {
  return range.offset_bytes.is_constant() && range.length_bytes.is_constant();
}

/// Whether a <= b or b <= a is known for every binding.
bool are_ordered(const SizeExpr& a, const SizeExpr& b) {
  const SizeExpr distance = b - a;
  return distance.lower_bound() >= 0 || distance.upper_bound() <= 0;
}

/// The smaller and the larger of two sizes. Precondition: are_ordered(a, b).
const SizeExpr& first_of(const SizeExpr& a, const SizeExpr& b) { return (b - a).lower_bound() >= 0 ? a : b; }
const SizeExpr& last_of(const SizeExpr& a, const SizeExpr& b) { return (b - a).lower_bound() >= 0 ? b : a; }

}  // namespace

void WrittenBytes::add(const ByteRange& range) {
  is_empty_ = false;
  if (range.has_rows()) return add_rows(range);
  const SizeExpr begin = range.offset_bytes, end = range.end_bytes();
  if (is_constant(range)) constant_.insert(begin.constant(), end.constant());
  if (begin == end) return;
  added_[begin].push_back(end);
  spans_.add(begin, end);
  with_outer_rows_.add(begin, end);
}

void WrittenBytes::add_rows(const ByteRange& range) {
  const ByteRange joined = take_joined(range, rows_, [](const ByteRange& other) { return other; });
  if (!joined.has_rows()) return add(joined);
  rows_.push_back(joined);
  const SizeExpr &row_bytes = range.rows.back().row_bytes, begin = range.offset_bytes, end = range.end_bytes();
  if (is_constant(range) && row_bytes.is_constant()) {
    constant_.insert(begin.constant(), (begin + row_bytes).constant());
    constant_.insert((end - row_bytes).constant(), end.constant());
  }
  with_outer_rows_.add(begin, begin + row_bytes);
  with_outer_rows_.add(end - row_bytes, end);
}

void WrittenBytes::Spans::add(const SizeExpr& first, const SizeExpr& last) {
  SizeExpr begin = first, end = last;
  if (const auto same = ends_.find(begin); same != ends_.end()) {
    // If it is unknown which of the two spans ends later, keep the old one apart: others may still extend the new one.
    if (are_ordered(end, same->second)) {
      end = last_of(end, same->second);
    } else {
      apart_.push_back({begin, same->second});
    }
    begins_.erase(same->second);
    ends_.erase(same);
  }
  if (const auto before = begins_.find(begin); before != begins_.end()) {
    begin = before->second;
    ends_.erase(begin);
    begins_.erase(before);
  }
  if (const auto after = ends_.find(end); after != ends_.end()) {
    const SizeExpr end_after = after->second;
    ends_.erase(after);
    begins_.erase(end_after);
    end = end_after;
  }
  join_overlapping(begin, end);
  const auto [span, is_new] = ends_.try_emplace(begin, end);
  if (!is_new) apart_.push_back({begin, std::exchange(span->second, end)});
  begins_.insert_or_assign(end, begin);
}

/// Extends the range by each span that certainly overlaps or touches it, and removes that span. If it is unknown which
/// of the two begins first, or which ends last, they stay two spans. If only the order of the begins is unknown, both
/// get the later end.
void WrittenBytes::Spans::join_overlapping(SizeExpr& begin, SizeExpr& end) {
  constexpr std::size_t kMaxCompared = 64;  // spans; limits the time of a call
  std::size_t compared = 0;
  for (auto span = ends_.begin(); span != ends_.end() && compared < kMaxCompared; ++compared) {
    const auto& [other_begin, other_end] = *span;
    const bool meets = (end - other_begin).lower_bound() >= 0 && (other_end - begin).lower_bound() >= 0;
    if (meets && are_ordered(end, other_end) && !are_ordered(begin, other_begin)) {
      end = last_of(end, other_end);
      begins_.erase(other_end);
      begins_.insert_or_assign(end, other_begin);
      span->second = end;
    }
    if (!meets || !are_ordered(begin, other_begin) || !are_ordered(end, other_end)) {
      ++span;
      continue;
    }
    begin = first_of(begin, other_begin);
    end = last_of(end, other_end);
    begins_.erase(other_end);
    span = ends_.erase(span);
  }
}

bool WrittenBytes::Spans::contain(const SizeExpr& begin, const SizeExpr& end) const {
  const auto has_all = [&](const auto& span) {
    const auto& [first, last] = span;
    return is_never_negative(begin - first) && is_never_negative(last - end);
  };
  return std::ranges::any_of(ends_, has_all) || std::ranges::any_of(apart_, has_all);
}

bool WrittenBytes::contains(const ByteRange& range) const {
  if (std::ranges::any_of(rows_, [&](const ByteRange& rows) { return are_inside(range, rows); })) return true;
  const SizeExpr &begin = range.offset_bytes, end = range.end_bytes();
  if (is_constant(range) && constant_.contains(begin.constant(), end.constant())) return true;
  const auto same = added_.find(begin);
  if (same != added_.end() && std::ranges::find(same->second, end) != same->second.end()) return true;
  return spans_.contain(begin, end) || with_outer_rows_.contain(begin, end);
}

}  // namespace millrace
