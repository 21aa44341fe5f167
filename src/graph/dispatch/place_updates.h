// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/graph/dispatch.h"

namespace millrace {

/// Lets scatters and elementwise regions change their operands in place, and regions store the new values of variables
/// in these. Says why for what stays a copy. Why here: after place_parts, as what is a part of a concat has its memory
/// already. O(regions * operands * log), and for an elementwise region the regions between the readers of its operand.
void place_updates(DispatchGraph&);

}  // namespace millrace
