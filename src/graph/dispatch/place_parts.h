// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/graph/dispatch.h"

namespace millrace {

/// Places the operands of concats in the storage of the results, so that their producers write them there. A concat
/// whose operands are all placed loses its region; another one keeps a copy per operand that is left, with the reason.
/// Why here: after all regions are formed, when it is known which values are stored. O(n log n) in values.
void place_parts(DispatchGraph&);

}  // namespace millrace
