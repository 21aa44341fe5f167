// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "millrace/graph/graph.h"

namespace millrace {

/// How `found` differs from `expected`, node by node and bit by bit; empty when it does not.
std::string graph_difference(const Graph& found, const Graph& expected);

/// What goes wrong when the graph is printed and parsed; empty when the same graph and the same text come back.
std::string round_trip_problem(const Graph&, const std::vector<CustomKernel>& kernels = {});

}  // namespace millrace
