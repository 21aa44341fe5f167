// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/run/diagnostics.h"
#include "millrace/graph/lowered_graph.h"

namespace millrace {

/// Collects what the error messages of runs need to know about the graph.
RunDiagnostics find_diagnostics(const LoweredGraph&);

}  // namespace millrace
