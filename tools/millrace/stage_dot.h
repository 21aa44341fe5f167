// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/graph/schedule.h"

namespace millrace::tool {

// Stages in Graphviz's language.

/// A node for each node and output of the graph, an edge for each use of a value.
std::string graph_dot(const Graph&);
/// A node for each region, input, constant and output, an edge for each value that one stores and another reads.
std::string dispatch_dot(const DispatchGraph&);
/// A node for each step and each resource, an edge for each access. Steps of one timepoint stand in one row.
std::string schedule_dot(const Schedule&);

}  // namespace millrace::tool
