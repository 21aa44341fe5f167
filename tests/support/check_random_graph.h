// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "millrace/graph/graph.h"

namespace millrace::test {

/// Prints the random graph of the seed, reads it back, and check_graph()s that with each of its bindings on every ISA
/// level of the host. Nothing, or report_mistake().
std::string check_random_graph(std::uint64_t seed);

/// What `find_mistake` says of the graph, and of the smallest one it says something of, with its text; nothing when it
/// says nothing.
std::string report_mistake(const Graph&, const std::function<std::string(const Graph&)>& find_mistake);

}  // namespace millrace::test
