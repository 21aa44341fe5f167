// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/run/signature_state.h"
#include "millrace/graph/graph.h"

namespace millrace {

/// What runs of the graph are told and check. Fails for a symbol that is no input's extent and has no upper bound.
/// Nodes that nothing uses ask for nothing.
Result<Signature::State> make_signature(const Graph&);

}  // namespace millrace
