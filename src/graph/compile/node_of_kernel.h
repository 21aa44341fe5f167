// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/graph/lowered_graph.h"

namespace millrace {

/// The last node of the region that the kernel computes, as messages name it: "%y = exp". If several regions share the
/// kernel, uses the region of the first step. O(steps).
std::string node_of_kernel(const LoweredGraph&, KernelIndex);

}  // namespace millrace
