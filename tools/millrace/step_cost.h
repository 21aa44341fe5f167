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

/// The step that each command is; null for barriers and for what loops and conditions hold.
IdVector<CommandId, const Step*> steps_of_commands(const LoweredGraph&);

}  // namespace millrace::tool
