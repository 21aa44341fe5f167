// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/base/size_expr.h"

namespace millrace {

/// Bytes [offset, offset + length), whose place a run may decide.
struct ByteRange {
  SizeExpr offset_bytes = 0;
  SizeExpr length_bytes = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

}  // namespace millrace
