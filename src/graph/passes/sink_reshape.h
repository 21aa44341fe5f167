// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "graph/passes/rewriter.h"

namespace millrace {

/// Turn this: relu (reshape x)                Into this: reshape (relu x)
/// The same holds for any elementwise node, if its other operands have the points of x: reshapes from x's shape, one
/// element that is broadcast, or an input or a constant, which can be reshaped for nothing. A reshape of a computed x
/// is stored, so x and its readers are separate kernels; where nothing but results reads the reshape, they are one.
/// Returns the value that replaces `value`. Appends nodes only if it returns one.
std::optional<Value> sink_reshape(GraphRewriter& rewriter, Value value);

}  // namespace millrace
