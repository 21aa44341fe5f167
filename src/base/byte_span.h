// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/base/size_expr.h"

namespace millrace {

/// Bytes [begin, end). Both ends may depend on sizes bound at run time.
struct ByteSpan {
  SizeExpr begin, end;

  /// False only if the spans are disjoint for every binding of the sizes.
  bool may_overlap(const ByteSpan& other) const {
    return (begin - other.end).lower_bound() < 0 && (other.begin - end).lower_bound() < 0;
  }
};

}  // namespace millrace
