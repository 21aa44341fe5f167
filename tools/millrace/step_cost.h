// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "millrace/graph/lowered_graph.h"

namespace millrace::tool {

/// The bytes that a step moves and the operations that it does (see BufferTraffic), for given values of symbols. A
/// kernel that launches 0 groups at these sizes costs nothing.
struct StepCost {
  SizeExpr bytes_read = 0, bytes_written = 0;
  std::optional<SizeExpr> flops = 0;  // absent: unknown (sorts)
};
StepCost cost_of(const Step&, const SymbolValues&);

/// The step of each command; null for barriers and for commands inside loops and conditions.
IdVector<CommandId, const Step*> steps_of_commands(const LoweredGraph&);

}  // namespace millrace::tool
