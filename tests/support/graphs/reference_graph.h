// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "millrace/graph/graph.h"
#include "tests/reference/tensor.h"

namespace millrace {

/// The graph's outputs, node by node through the independent oracle. Precondition: a verified static graph without
/// kernels of the application's own.
std::vector<reference::Tensor> evaluate_graph(const Graph&, std::span<const reference::Tensor> inputs);

/// The same of a graph with variables, whose values are in `state`, by name: those before the run, then those after it.
std::vector<reference::Tensor> evaluate_graph(const Graph&, std::span<const reference::Tensor> inputs,
                                              std::map<std::string, reference::Tensor>& state);

/// Uniform in [low, high), from the seed; integers rounded down, bool by the sign.
reference::Tensor random_tensor(TensorType type, double low, double high, std::uint64_t seed);

/// The graph with numbers for its symbols.
Graph bind_graph(const Graph&, const SymbolValues&);

}  // namespace millrace
