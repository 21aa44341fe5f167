// SPDX-License-Identifier: Apache-2.0
#include "graph/stream/written_bytes.h"

#include <algorithm>

#include "base/byte_rows.h"
#include "base/size_expr/never_negative.h"

namespace millrace {
namespace {

bool is_constant(const ByteRange& range) {
  return range.offset_bytes.is_constant() && range.length_bytes.is_constant();
}

/// The lesser of both, as one of them where that is sure.
SizeExpr first_of(const SizeExpr& a, const SizeExpr& b) {
  if ((b - a).lower_bound() >= 0) return a;
  return (a - b).lower_bound() >= 0 ? b : min(a, b);
}
SizeExpr last_of(const SizeExpr& a, const SizeExpr& b) {
  if ((b - a).lower_bound() >= 0) return b;
  return (a - b).lower_bound() >= 0 ? a : max(a, b);
}

}  // namespace

void WrittenBytes::add(const ByteRange& range) {
  is_empty_ = false;
  if (range.has_rows()) return add_rows(range);
  SizeExpr begin = range.offset_bytes, end = range.end_bytes();
  if (is_constant(range)) constant_.insert(begin.constant(), end.constant());
  if (begin == end) return;
  if (const auto same = ends_.find(begin); same != ends_.end()) {
    end = last_of(end, same->second);
    begins_.erase(same->second);
    ends_.erase(same);
  }
  if (const auto before = begins_.find(begin); before != begins_.end()) {
    begin = before->second;
    ends_.erase(begin);
    begins_.erase(before);
  }
  if (const auto after = ends_.find(end); after != ends_.end()) {
    const SizeExpr last = after->second;
    ends_.erase(after);
    begins_.erase(last);
    end = last;
  }
  join_overlapping(begin, end);
  ends_.insert_or_assign(begin, end);
  begins_.insert_or_assign(end, begin);
}

/// The first row and the last one are added as ranges, too: a neighbour of which no rows are known, only where it
/// begins and ends, then leaves no gap.
void WrittenBytes::add_rows(const ByteRange& range) {
  const ByteRange joined = take_joined(range, rows_, [](const ByteRange& other) { return other; });
  if (!joined.has_rows()) return add(joined);
  rows_.push_back(joined);
  const SizeExpr& row_bytes = range.rows.back().row_bytes;
  add({range.offset_bytes, row_bytes});
  add({range.end_bytes() - row_bytes, row_bytes});
}

/// Extends the range by a span that it surely meets, and takes that away.
void WrittenBytes::join_overlapping(SizeExpr& begin, SizeExpr& end) {
  constexpr std::size_t kMaxCompared = 64;
  std::size_t compared = 0;
  for (auto span = ends_.begin(); span != ends_.end() && compared < kMaxCompared; ++compared) {
    const auto& [other_begin, other_end] = *span;
    const bool meets = (end - other_begin).lower_bound() >= 0 && (other_end - begin).lower_bound() >= 0;
    if (!meets) {
      ++span;
      continue;
    }
    begin = first_of(begin, other_begin);
    end = last_of(end, other_end);
    begins_.erase(other_end);
    span = ends_.erase(span);
  }
}

bool WrittenBytes::contains(const ByteRange& range) const {
  if (std::ranges::any_of(rows_, [&](const ByteRange& rows) { return are_inside(range, rows); })) return true;
  const SizeExpr &begin = range.offset_bytes, end = range.end_bytes();
  if (is_constant(range) && constant_.contains(begin.constant(), end.constant())) return true;
  return std::ranges::any_of(ends_, [&](const auto& span) {
    return is_never_negative(begin - span.first) && is_never_negative(span.second - end);
  });
}

}  // namespace millrace
