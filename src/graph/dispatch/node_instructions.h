// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/graph/graph.h"
#include "millrace/jit/body.h"

namespace millrace {

/// Whether each element of the node's results depends only on the elements of its operands at the same place.
bool is_elementwise(const Node&);

/// Records the body of an elementwise node. The operands have the body_dtype of the node's operands.
BodyValue record_body(BodyBuilder&, const Graph&, const Node&, std::vector<BodyValue> operands);

/// An estimate of the instructions that an elementwise node adds to the body into which it is fused, including loads
/// that no other node accounts for; 0 for other nodes.
std::int64_t body_instructions(const Graph&, const Node&);

}  // namespace millrace
