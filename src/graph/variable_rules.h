// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "millrace/graph/graph.h"

// What the builder, the parser and verify(Graph) ask of variables. Each says what is wrong, or nothing.

namespace millrace {

/// About a variable's type and the number of bytes of its initial value.
std::string variable_problem(const TensorType&, std::size_t initial_bytes);
/// The same of a state of a loop, in its body.
std::string state_problem(const TensorType&, std::size_t initial_bytes);

/// About an update, next to those before it.
std::string update_problem(const Graph&, const GraphUpdate&, std::span<const GraphUpdate> before);

}  // namespace millrace
