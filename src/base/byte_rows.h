// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/byte_span.h"
#include "millrace/base/byte_range.h"

namespace millrace {

/// Whether the rows of both, which have one pitch, are in other columns of it, whatever a run binds.
inline bool are_other_columns(const ByteRange& a, const ByteRange& b) {
  if (!a.has_rows() || a.pitch_bytes != b.pitch_bytes) return false;
  const auto is_left_of = [](const ByteRange& left, const ByteRange& right) {
    const SizeExpr distance = right.offset_bytes - left.offset_bytes;
    return (distance - left.row_bytes).lower_bound() >= 0 &&
           (left.pitch_bytes - distance - right.row_bytes).lower_bound() >= 0;
  };
  return is_left_of(a, b) || is_left_of(b, a);
}

/// False only if the two are apart for every binding.
inline bool may_meet(const ByteRange& a, const ByteRange& b) {
  return ByteSpan{a.offset_bytes, a.end_bytes()}.may_meet({b.offset_bytes, b.end_bytes()}) && !are_other_columns(a, b);
}

/// "[64, 128)", or "[64, 128) by 16 of 32": rows of 16 bytes, of which one begins every 32 bytes.
inline std::string to_text(const ByteRange& range) {
  const std::string all = "[" + range.offset_bytes.to_text() + ", " + range.end_bytes().to_text() + ")";
  return range.has_rows() ? all + " by " + range.row_bytes.to_text() + " of " + range.pitch_bytes.to_text() : all;
}

/// Whether rows of one pitch surely hold all of the others.
inline bool are_inside(const ByteRange& inner, const ByteRange& outer) {
  if (!inner.has_rows() || inner.pitch_bytes != outer.pitch_bytes) return false;
  const SizeExpr shift = inner.offset_bytes - outer.offset_bytes;
  return shift.lower_bound() >= 0 && (outer.row_bytes - shift - inner.row_bytes).lower_bound() >= 0 &&
         (outer.length_bytes - outer.row_bytes - (inner.length_bytes - inner.row_bytes)).lower_bound() >= 0;
}

/// One range of the same bytes, if the rows of the second continue those of the first.
inline std::optional<ByteRange> join_rows(const ByteRange& left, const ByteRange& right) {
  const bool continues = left.has_rows() && left.pitch_bytes == right.pitch_bytes &&
                         left.offset_bytes + left.row_bytes == right.offset_bytes &&
                         left.length_bytes - left.row_bytes == right.length_bytes - right.row_bytes;
  if (!continues) return {};
  ByteRange joined{left.offset_bytes, left.length_bytes + right.row_bytes, left.pitch_bytes,
                   left.row_bytes + right.row_bytes};
  if (joined.row_bytes == joined.pitch_bytes) joined.pitch_bytes = joined.row_bytes = 0;  // no gaps are left
  return joined;
}

/// Joins the range with all of the others that it continues or that continue it, which leave the list.
template <class List, class RangeOf>
ByteRange take_joined(ByteRange range, List& others, const RangeOf& range_of) {
  for (std::size_t i = 0; i < others.size() && range.has_rows();) {
    std::optional<ByteRange> joined = join_rows(range_of(others[i]), range);
    if (!joined) joined = join_rows(range, range_of(others[i]));
    if (!joined) {
      ++i;
      continue;
    }
    range = *std::move(joined);
    others[i] = std::move(others.back());
    others.pop_back();
    i = 0;
  }
  return range;
}

}  // namespace millrace
