// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "millrace/graph/graph.h"

namespace common {

/// Makes the state of an imported model a variable, which a session keeps from run to run: the graph no longer has the
/// input, which begins with zeros, nor the output, whose value the next run reads. Both have one type, whose dims are
/// numbers. Fails with kInvalidArgument if the graph lacks either.
millrace::Status keep_state(millrace::Graph&, std::string_view input, std::string_view output);

}  // namespace common
