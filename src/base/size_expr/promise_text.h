// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/base/size_expr.h"

namespace millrace {

/// "rows in 1..64 multiple_of 4", and "n in 0.." where nothing more is promised: facts as messages say them, to those
/// who write graphs as text and to those who write them in C++.
std::string promise_text(const Dim&);

}  // namespace millrace
