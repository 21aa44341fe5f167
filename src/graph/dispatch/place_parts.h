// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/graph/dispatch.h"

namespace millrace {

/// Places the operands of concats and pads in the storage of the results, so that their producers write them there. A
/// concat whose operands are all placed loses its region; a pad's region then fills only what surrounds its operand.
/// If an operand cannot be placed, the region keeps a copy, with the reason. Why here: after all regions are formed,
/// when the stored values are known. O(n log n) in values.
void place_parts(DispatchGraph&);

}  // namespace millrace
