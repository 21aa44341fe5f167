// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "millrace/graph/lowered_graph.h"

namespace millrace::tool {

/// What a step moves and computes (see BufferTraffic), given what symbols have values: a kernel of no groups moves
/// nothing.
struct StepCost {
  SizeExpr bytes_read = 0, bytes_written = 0;
  std::optional<SizeExpr> flops = 0;  // absent: not a number that is known (sorts)
};
StepCost cost_of(const Step&, const SymbolValues&);

/// The step that each command is, by its number; null for barriers and what loops and conditions hold.
std::vector<const Step*> steps_of_commands(const LoweredGraph&);

}  // namespace millrace::tool
