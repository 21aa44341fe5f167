// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "millrace/graph/compile.h"
#include "tests/reference/tensor.h"

namespace millrace::test {

/// What the elements of the outputs of a graph were compared with.
struct ElementTally {
  std::uint64_t known = 0;    // bits
  std::uint64_t bounded = 0;  // the ends of a range
  std::uint64_t open = 0;     // nothing: a rounding error decides
};

/// Values of a static graph by node and result.
using Values = std::map<Value, reference::Tensor>;

/// The first output outside of what the oracle allows for the whole graph, however its nodes are fused; empty if all
/// are inside. `computed` has each value of a run of the nodes alone, which functions have the bits of.
std::string check_outputs(const Graph& bound, const Values& computed, std::span<const reference::Tensor> found,
                          ElementTally* tally = nullptr);

/// Runs a graph on inputs of every style and says the first thing that is wrong, or nothing:
/// * with every value an output: each node's results equal the oracle's for the operands that this very run gave it;
/// * as it is, compiled for `options`: every element of every output is in the range that the oracle gives for the
/// whole
///   graph (tests/reference/ranges.h), which is bit for bit but where an order of summation or of an unsorted topk is
///   the kernel's to choose, and then no wider than those orders can differ;
/// * the same of the interpreter on that target, if it has FMA.
/// Functions that are right within a few ulp must have the same bits in all three. `values` are those of the graph's
/// symbols.
std::string check_graph(const Graph&, const SymbolValues& values, const CompileOptions& options, std::uint64_t seed,
                        ElementTally* tally = nullptr);

}  // namespace millrace::test
