// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/base/size_expr.h"

namespace millrace {

/// True if a constant or a coefficient of the sum was saturated at an end of int64. Subtracting such an expression
/// proves nothing, because the expression and twice the expression can then have the same form.
bool is_saturated(const SizeExpr&);

}  // namespace millrace
