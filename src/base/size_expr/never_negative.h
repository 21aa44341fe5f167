// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/base/size_expr.h"

namespace millrace {

/// Whether the value is provably 0 or more for every binding that keeps the facts. It proves more than lower_bound(),
/// because it relates a quotient to its dividend: m + 1 - 2 * floor_div(m + 1, 2) is 0 or 1. The forms of min and max
/// depend on lower_bound(), and must not depend on this function.
bool is_never_negative(const SizeExpr&);

}  // namespace millrace
