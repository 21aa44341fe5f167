// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/graph/graph.h"

namespace millrace {

/// The rules of verify(Graph) that no single call of a builder can check: unique names, one body for each kernel's
/// name, one set of facts for each symbol, an output. If the library is built with assertions, checks all rules.
Status verify_built(const Graph&);

}  // namespace millrace
