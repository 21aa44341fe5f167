// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/graph/lowered_graph.h"

namespace millrace::tool {

/// Everything that an application needs to launch the kernels of a GPU code object itself: the steps, including copies,
/// the memory that they use, and the rules that it must follow.
std::string launch_text(const LoweredGraph&, const SymbolValues&);

}  // namespace millrace::tool
