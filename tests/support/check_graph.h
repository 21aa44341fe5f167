// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/graph/program.h"

namespace millrace::test {

/// Runs a graph without unsorted topk in three forms and says the first thing that is wrong, or nothing:
/// * with every value an output: each node's results equal the oracle's for the operands that this very run gave it;
/// * as it is, compiled for `options` and for the interpreter on the same target, if it has FMA: bit for bit the same;
/// * as it is against every value an output, bit for bit, where no sum of floats comes before: fusing changes nothing.
/// `values` are those of the graph's symbols.
std::string check_graph(const Graph&, const SymbolValues& values, const CompileOptions& options, std::uint64_t seed);

}  // namespace millrace::test
