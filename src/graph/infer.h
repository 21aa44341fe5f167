// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/graph/graph.h"

namespace millrace {

/// The result types of an op or kernel node from its operands' types; the message has no node name yet.
Result<std::vector<TensorType>> infer_node(const Node&, std::span<const TensorType> operands);

/// Every size that a node states: in its attributes, and the dims of its results.
std::vector<SizeExpr> sizes_of(const Node&);

}  // namespace millrace
