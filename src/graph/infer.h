// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "millrace/graph/graph.h"
#include "millrace/ops/op_def.h"

namespace millrace {

/// From the operands' types, infers the result types of a node that computes something, and the checks that must wait
/// for run time. Messages do not name the node yet.
Result<Inference> infer_node(const Node&, std::span<const TensorType> operands);

/// Fails if one symbol has two sets of facts in the shapes. Messages about shapes show no facts, so shapes that differ
/// only in facts would look equal there.
Status check_facts(std::span<const Shape> shapes);

/// Replaces the one dim of -1 in `shape` so that the shape has as many elements as `from`.
Shape with_found_dim(Shape shape, const Shape& from);

/// Every size in the node's attributes, in the dims of its results, and in its bodies.
std::vector<SizeExpr> sizes_of(const Node&);

}  // namespace millrace
