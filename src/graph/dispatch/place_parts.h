// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/graph/dispatch.h"

namespace millrace {

/// Places the operands of concats and pads in the storage of the results, so that their producers write them there. A
/// concat whose operands are all placed loses its region, that of a pad fills what is around its operand; other ones
/// keep a copy per operand that is left, with the reason. Why here: after all regions are formed, when it is known
/// which values are stored. O(n log n) in values.
void place_parts(DispatchGraph&);

}  // namespace millrace
