// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/base/size_expr.h"

namespace millrace {

/// Bytes [offset, offset + length), which may depend on sizes bound at run time. With rows, the range has gaps: from
/// the offset on, only the first `row_bytes` of every `pitch_bytes` belong to it. A row may have rows of its own, and
/// so on; the outermost rows come first. The last row ends where the range or row around it ends.
struct ByteRange {
  struct Rows {
    SizeExpr pitch_bytes, row_bytes;
    friend bool operator==(const Rows&, const Rows&) = default;
  };
  SizeExpr offset_bytes = 0;
  SizeExpr length_bytes = 0;
  std::vector<Rows> rows = {};

  bool has_rows() const { return !rows.empty(); }
  /// The size that the rows of this level divide: the length of the range, or of a row one level further out.
  const SizeExpr& around(std::size_t level) const { return level == 0 ? length_bytes : rows[level - 1].row_bytes; }
  SizeExpr end_bytes() const { return offset_bytes + length_bytes; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

}  // namespace millrace
