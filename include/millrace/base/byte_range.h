// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/base/size_expr.h"

namespace millrace {

/// Bytes [offset, offset + length), whose place a run may decide. With a pitch, only some of them: from the offset on,
/// the first `row_bytes` of every `pitch_bytes`. The last row ends where the range ends.
struct ByteRange {
  SizeExpr offset_bytes = 0;
  SizeExpr length_bytes = 0;
  SizeExpr pitch_bytes = 0;
  SizeExpr row_bytes = 0;

  bool has_rows() const { return !pitch_bytes.is(0); }
  SizeExpr end_bytes() const { return offset_bytes + length_bytes; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

}  // namespace millrace
