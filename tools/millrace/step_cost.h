// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "millrace/graph/schedule.h"

namespace millrace::tool {

/// What a step moves and computes. Bytes are those that it may touch: a kernel that picks from a table counts with the
/// whole table.
struct StepCost {
  SizeExpr bytes_read = 0, bytes_written = 0;
  std::optional<SizeExpr> flops = 0;  // absent: not a number that is known (sorts)
};
StepCost cost_of(const Schedule&, const Step&);

}  // namespace millrace::tool
