// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "millrace/graph/graph.h"

namespace millrace::test {

/// Valid graphs of fewer ops, or as many and fewer outputs, each one step from `graph`: without an output, with an
/// output's operands in its place, with an op's results as inputs, with an op's operand in its result's place.
std::vector<Graph> smaller_graphs(const Graph& graph);

/// A graph for which `fails` is still true, but for none of its smaller_graphs(). Precondition: fails(graph).
Graph shrink_graph(Graph graph, const std::function<bool(const Graph&)>& fails);

}  // namespace millrace::test
