// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/graph/graph.h"
#include "millrace/ops/op_def.h"

namespace millrace {

/// The result types of an op or kernel node from its operands' types, and what a run must check; the message has no
/// node name yet.
Result<Inference> infer_node(const Node&, std::span<const TensorType> operands);

/// Every size that a node states: in its attributes, and the dims of its results.
std::vector<SizeExpr> sizes_of(const Node&);

}  // namespace millrace
