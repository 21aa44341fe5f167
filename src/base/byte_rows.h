// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "base/byte_span.h"
#include "millrace/base/byte_range.h"

namespace millrace {

/// The number of levels, counted from the outermost, on which both ranges have the same pitch.
inline std::size_t num_same_pitches(const ByteRange& a, const ByteRange& b) {
  std::size_t level = 0;
  while (level < std::min(a.rows.size(), b.rows.size()) && a.rows[level].pitch_bytes == b.rows[level].pitch_bytes) {
    ++level;
  }
  return level;
}

/// Whether, on some level with equal pitches, the rows of `a` and `b` provably occupy disjoint columns, for every
/// binding of the sizes.
inline bool have_disjoint_columns(const ByteRange& a, const ByteRange& b) {
  for (std::size_t level = num_same_pitches(a, b); level-- > 0;) {
    // A right row begins after the left row of this level ends. On this and every outer level, the right row ends
    // before the next left row begins.
    const auto is_left_of = [level](const ByteRange& left, const ByteRange& right) {
      const SizeExpr distance = right.offset_bytes - left.offset_bytes;
      if ((distance - left.rows[level].row_bytes).lower_bound() < 0) return false;
      return std::all_of(right.rows.begin(), right.rows.begin() + std::ptrdiff_t(level) + 1, [&](const auto& rows) {
        return (rows.pitch_bytes - distance - rows.row_bytes).lower_bound() >= 0;
      });
    };
    if (is_left_of(a, b) || is_left_of(b, a)) return true;
  }
  return false;
}

/// False only if `a` and `b` are disjoint for every binding of the sizes.
inline bool may_overlap(const ByteRange& a, const ByteRange& b) {
  return ByteSpan{a.offset_bytes, a.end_bytes()}.may_overlap({b.offset_bytes, b.end_bytes()}) &&
         !have_disjoint_columns(a, b);
}

/// "[64, 128)", or "[64, 128) by 16 of 32": rows of 16 bytes, one every 32 bytes. The outermost rows come first.
inline std::string to_text(const ByteRange& range) {
  std::string text = "[" + range.offset_bytes.to_text() + ", " + range.end_bytes().to_text() + ")";
  for (const auto& [pitch, row] : range.rows) text += " by " + row.to_text() + " of " + pitch.to_text();
  return text;
}

/// Whether every byte of `inner` is provably in `outer`. Finds a proof only if `outer` has rows and `inner` has the
/// same pitch on each of their levels.
inline bool are_inside(const ByteRange& inner, const ByteRange& outer) {
  const std::size_t num_levels = outer.rows.size();
  if (num_levels == 0 || num_same_pitches(inner, outer) < num_levels) return false;
  const SizeExpr shift = inner.offset_bytes - outer.offset_bytes;
  const SizeExpr &outer_row = outer.rows.back().row_bytes, &inner_row = inner.rows[num_levels - 1].row_bytes;
  if (shift.lower_bound() < 0 || (outer_row - shift - inner_row).lower_bound() < 0) return false;
  for (std::size_t level = 0; level < num_levels; ++level) {
    const SizeExpr outer_steps = outer.divided_bytes(level) - outer.rows[level].row_bytes;
    const SizeExpr inner_steps = inner.divided_bytes(level) - inner.rows[level].row_bytes;
    if ((outer_steps - inner_steps).lower_bound() < 0) return false;
  }
  return true;
}

/// The union of `left` and `right` as one range, if each innermost row of `right` begins where one of `left` ends.
inline std::optional<ByteRange> join_rows(const ByteRange& left, const ByteRange& right) {
  const std::size_t num_levels = left.rows.size();
  const bool have_same_pitches =
      num_levels > 0 && right.rows.size() == num_levels && num_same_pitches(left, right) == num_levels;
  if (!have_same_pitches || left.offset_bytes + left.rows.back().row_bytes != right.offset_bytes) return {};
  const SizeExpr added = right.rows.back().row_bytes;
  ByteRange joined{left.offset_bytes, left.length_bytes + added};
  for (std::size_t level = 0; level < num_levels; ++level) {
    const SizeExpr &left_row = left.rows[level].row_bytes, &right_row = right.rows[level].row_bytes;
    if (left.divided_bytes(level) - left_row != right.divided_bytes(level) - right_row)
      return {};  // the row counts differ
    joined.rows.push_back({left.rows[level].pitch_bytes, left_row + added});
  }
  // Rows that fill their pitch leave no gaps, so their level is dropped.
  while (joined.has_rows() && joined.rows.back().row_bytes == joined.rows.back().pitch_bytes) joined.rows.pop_back();
  return joined;
}

/// Joins `range` with every adjacent range in `others`, and removes the joined ranges from `others`.
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
