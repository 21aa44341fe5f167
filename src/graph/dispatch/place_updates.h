// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/graph/dispatch.h"

namespace millrace {

/// Lets scatters and elementwise regions change their operands in place. Lets regions store the new values of variables
/// in the variables. Each copy that remains gets a reason. Why here: after place_parts, because a part of a concat has
/// its memory by then. O(regions * operands * log), plus, per elementwise region, the regions between the readers of
/// its operand.
void place_updates(DispatchGraph&);

}  // namespace millrace
