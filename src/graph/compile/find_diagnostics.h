// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/run/diagnostics.h"
#include "millrace/graph/lowered_graph.h"

namespace millrace {

/// What the running half needs to know of the graph for its messages.
RunDiagnostics find_diagnostics(const LoweredGraph&);

}  // namespace millrace
