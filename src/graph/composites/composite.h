// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "millrace/graph/functions.h"

namespace millrace {

/// Refuses what a composite was given: "%7 = einsum: found, expected; what to do".
inline Tensor refuse(GraphBuilder& graph, std::string_view composite, std::string_view what) {
  return graph.fail(invalid_argument(fmt::format("%{} = {}: {}", graph.graph().nodes.size(), composite, what)));
}

}  // namespace millrace
