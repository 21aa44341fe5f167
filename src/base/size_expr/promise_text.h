// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/base/size_expr.h"

namespace millrace {

/// A symbol and its facts as error messages show them: "rows in 1..64 multiple_of 4", or "n in 0.." when it has no
/// other facts. Messages use this syntax for graphs built by C++ too.
std::string promise_text(const Dim&);

}  // namespace millrace
