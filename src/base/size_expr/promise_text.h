// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/base/size_expr.h"

namespace millrace {

/// The facts in messages, for authors of both text and C++: "rows in 1..64 multiple_of 4", or "n in 0.." when nothing
/// more is promised.
std::string promise_text(const Dim&);

}  // namespace millrace
