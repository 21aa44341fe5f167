// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/graph/graph.h"
#include "millrace/ops/op_def.h"

namespace millrace {

/// The result types of an op or kernel node from its operands' types, and what a run must check; the message has no
/// node name yet.
Result<Inference> infer_node(const Node&, std::span<const TensorType> operands);

/// `shape` with its one dim of -1 as what the others leave of the elements of `from`.
Shape with_found_dim(Shape shape, const Shape& from);

/// Every size that a node states: in its attributes, and the dims of its results.
std::vector<SizeExpr> sizes_of(const Node&);

}  // namespace millrace
