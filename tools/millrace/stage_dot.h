// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/graph/schedule.h"

namespace millrace::tool {

// Draws stages of compiling in Graphviz's language.

/// One dot node per node and output of the graph, one edge per use of a value.
std::string graph_dot(const Graph&);
/// One node per region, input, constant and output, one edge per value that one node stores and another reads.
std::string dispatch_dot(const DispatchGraph&);
/// One node per step and resource, one edge per access. Steps with the same timepoint are in one row.
std::string schedule_dot(const Schedule&);

}  // namespace millrace::tool
