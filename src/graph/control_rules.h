// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "millrace/graph/graph.h"
#include "millrace/ops/op_def.h"

// The type rules of loops and conditions. Precondition: the bodies exist, and verify() accepts each of them.

namespace millrace {

/// The maximum number of results of a loop or a condition: used_results() has a bit for each.
inline constexpr std::size_t kMaxControlResults = 32;

/// The maximum depth of nested bodies. It limits recursion, because code that walks a graph recurses into its bodies.
inline constexpr std::size_t kMaxControlDepth = 16;
/// The message for a deeper nesting; `who` is the node.
std::string too_deep(std::string_view who);

Result<Inference> infer_loop(const LoopNode&, std::span<const TensorType> operands);
Result<Inference> infer_cond(const CondNode&, std::span<const TensorType> operands);

}  // namespace millrace
