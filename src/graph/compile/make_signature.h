// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/run/signature_state.h"
#include "millrace/graph/graph.h"

namespace millrace {

/// The inputs, outputs and symbols of the graph, and the checks that a run makes. Fails for a symbol that is not the
/// extent of an input and has no upper bound. Unused nodes add no checks.
Result<Signature::State> make_signature(const Graph&);

}  // namespace millrace
