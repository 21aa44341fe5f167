// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "millrace/graph/graph.h"
#include "millrace/jit/body.h"

namespace millrace {

/// Whether the node computes each element of its results from those of its operands at the same place.
bool is_elementwise(const Node&);

/// Records the body of an elementwise node.
BodyValue record_body(BodyBuilder&, const Node&, std::span<const BodyValue> operands);

/// About how many instructions an elementwise node adds to the body that it is fused into, with loads of what no other
/// node accounts for; 0 for others.
std::int64_t body_instructions(const Graph&, const Node&);

}  // namespace millrace
