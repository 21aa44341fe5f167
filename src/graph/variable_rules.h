// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "millrace/graph/graph.h"

// The rules for variables that the builder, the parser and verify(Graph) share. Each function returns the problem, or
// an empty text.

namespace millrace {

/// Checks a variable's type and the number of bytes of its initial value.
std::string variable_problem(const TensorType&, std::size_t initial_bytes);
/// Does the same for a loop's state, which is a variable of its body.
std::string state_problem(const TensorType&, std::size_t initial_bytes);

/// Checks an update, given the updates before it.
std::string update_problem(const Graph&, const GraphUpdate&, std::span<const GraphUpdate> before);

}  // namespace millrace
