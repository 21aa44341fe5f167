// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "millrace/graph/graph.h"
#include "tests/reference/tensor.h"

namespace millrace::test {

/// How many of them the tests run, from seed 1.
inline constexpr std::uint64_t kTestedGraphs = 500;

/// A valid graph of any ops, dtypes, static and symbolic dims, one or more results used or not; and values of its
/// symbols for which a run is promised to succeed. Equal seeds give equal graphs.
struct RandomGraph {
  Graph graph;
  std::vector<SymbolValues> bindings;
  std::vector<std::string_view> composites;  // some of its ops come from these
};
RandomGraph make_random_graph(std::uint64_t seed);

/// Inputs of a graph without symbols: small numbers of both signs, some special ones, and equal ones.
std::vector<reference::Tensor> random_inputs(const Graph&, std::uint64_t seed);

}  // namespace millrace::test
