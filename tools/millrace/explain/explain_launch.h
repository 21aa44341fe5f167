// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/graph/lowered_graph.h"

namespace millrace::tool {

/// Everything that a program needs to launch the kernels of a GPU's code object itself: the steps, including copies,
/// the memory that they use, and the rules.
std::string launch_text(const LoweredGraph&, const SymbolValues&);

}  // namespace millrace::tool
