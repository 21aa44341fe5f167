// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/graph/graph.h"

namespace millrace::tool {

/// The graph in Graphviz's language: a box a node, and an arrow an operand with its type.
std::string graph_dot(const Graph&);

}  // namespace millrace::tool
