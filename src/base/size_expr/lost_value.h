// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/base/size_expr.h"

namespace millrace {

/// True if a constant or a coefficient of the sum left the int64 range. A difference from another expression then
/// proves nothing, because twice this expression has the same form.
bool has_lost_value(const SizeExpr&);

}  // namespace millrace
