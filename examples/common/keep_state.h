// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "millrace/graph/graph.h"

namespace common {

/// Turns the state of an imported model into a variable, which a session keeps from run to run. The variable replaces
/// the input and the output: it begins with zeros, and each run stores the output's value in it for the next run. Both
/// must have the same type, whose dims are numbers. Fails with kInvalidArgument if the graph lacks either.
millrace::Status keep_state(millrace::Graph&, std::string_view input, std::string_view output);

}  // namespace common
