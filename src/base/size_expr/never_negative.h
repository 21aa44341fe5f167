// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/base/size_expr.h"

namespace millrace {

/// Whether no binding that keeps the facts gives a value below 0, as far as that can be seen. Sees more than
/// lower_bound(): what a quotient has to do with its dividend, so that m + 1 - 2 * floor_div(m + 1, 2) is 0 or 1. The
/// forms of min and max depend on lower_bound(), and must not depend on this.
bool is_never_negative(const SizeExpr&);

}  // namespace millrace
