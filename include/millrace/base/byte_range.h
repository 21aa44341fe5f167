// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/base/size_expr.h"

namespace millrace {

/// Bytes [offset, offset + length), which may depend on sizes bound at run time. If `rows` is not empty, the range has
/// gaps: starting at the offset, only the first `row_bytes` of every `pitch_bytes` belong to it. Rows can nest: rows[1]
/// divides each row of rows[0] in the same way, and so on. The last row of a level ends exactly at the end of the range
/// or row that it divides, without a gap after it.
struct ByteRange {
  struct Rows {
    SizeExpr pitch_bytes, row_bytes;
    friend bool operator==(const Rows&, const Rows&) = default;
  };
  SizeExpr offset_bytes = 0;
  SizeExpr length_bytes = 0;
  std::vector<Rows> rows = {};

  bool has_rows() const { return !rows.empty(); }
  /// The number of bytes that the rows of this level divide: for level 0, the length of the range; otherwise, the
  /// length of one row of the level before.
  const SizeExpr& divided_bytes(std::size_t level) const {
    return level == 0 ? length_bytes : rows[level - 1].row_bytes;
  }
  SizeExpr end_bytes() const { return offset_bytes + length_bytes; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

}  // namespace millrace
