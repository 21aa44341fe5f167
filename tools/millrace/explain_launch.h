// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/graph/lowered_graph.h"

namespace millrace::tool {

/// All that a program needs which launches the kernels of a GPU's code object by itself: the steps, copies included,
/// the memory that they use, and the rules.
std::string launch_text(const LoweredGraph&, const SymbolValues&);

}  // namespace millrace::tool
