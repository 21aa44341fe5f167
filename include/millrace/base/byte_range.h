// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/base/size_expr.h"

namespace millrace {

/// Bytes [offset, offset + length), whose place a run may decide. With rows, only some of them: from the offset on, the
/// first `row_bytes` of every `pitch_bytes`. Each row may in turn be one of rows, and so on; the outermost come first.
/// The last row ends where the bytes around it end: the range, or a row of those before.
struct ByteRange {
  struct Rows {
    SizeExpr pitch_bytes, row_bytes;
    friend bool operator==(const Rows&, const Rows&) = default;
  };
  SizeExpr offset_bytes = 0;
  SizeExpr length_bytes = 0;
  std::vector<Rows> rows = {};

  bool has_rows() const { return !rows.empty(); }
  /// The bytes that the rows with this number divide.
  const SizeExpr& around(std::size_t level) const { return level == 0 ? length_bytes : rows[level - 1].row_bytes; }
  SizeExpr end_bytes() const { return offset_bytes + length_bytes; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

}  // namespace millrace
