// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "graph/passes/rewriter.h"

namespace millrace {

/// Turn this: relu (reshape x)                Into this: reshape (relu x)
/// The same holds for any elementwise node whose other operands can have the shape of x at no cost: reshapes from that
/// shape, one element that is broadcast, inputs and constants. Not variables, because a reshape between a variable and
/// its new value would need a copy. A reshape reads memory, so it keeps the kernel that computes x apart from those
/// that read it; a reshape of a result does not. Returns the value that replaces `value`, and appends nodes only then.
std::optional<Value> sink_reshape(GraphRewriter& rewriter, Value value);

}  // namespace millrace
