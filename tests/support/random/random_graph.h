// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "millrace/graph/graph.h"
#include "tests/reference/tensor.h"
#include "tests/support/random/random_choice.h"

namespace millrace::test {

/// How many of them the tests run, from seed 1.
inline constexpr std::uint64_t kTestedGraphs = 500;

/// A valid graph of any ops, dtypes, static and symbolic dims, one or more results used or not; and values of its
/// symbols for which a run is promised to succeed. Equal seeds give equal graphs of a size.
struct RandomGraph {
  Graph graph;
  std::vector<SymbolValues> bindings;
  std::vector<std::string_view> composites;  // some of its ops come from these
};
RandomGraph make_random_graph(std::uint64_t seed, GraphSize size = GraphSize::kSmall);

/// What the floats of random inputs are. Integers are small ones of both signs, and now and then the extremes.
enum class InputStyle {
  kSpecial,  // eighths, so that ties are frequent; and some special values
  kWhole,    // small whole numbers: their sums and products are exact, so that nothing hides in a rounding error
  kReal,     // with every bit of the fraction: their sums are not exact
};
inline constexpr InputStyle kInputStyles[] = {InputStyle::kSpecial, InputStyle::kWhole, InputStyle::kReal};

/// Inputs of a graph without symbols.
std::vector<reference::Tensor> random_inputs(const Graph&, std::uint64_t seed, InputStyle style = InputStyle::kSpecial);

}  // namespace millrace::test
