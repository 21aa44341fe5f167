// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "millrace/graph/graph.h"
#include "tests/support/graphs/check_graph.h"
#include "tests/support/random/random_choice.h"

namespace millrace::test {

/// Where a random graph runs.
struct RandomGraphRun {
  std::string device = {};  // every ISA level of the host, if empty
  GraphSize size = GraphSize::kSmall;
};

/// Prints the random graph of the seed, reads it back, and check_graph()s that with each of its bindings. Nothing, or
/// report_mistake().
std::string check_random_graph(std::uint64_t seed, const RandomGraphRun& run = {}, ElementTally* tally = nullptr);

/// What `find_mistake` says of the graph, and of the smallest one it says something of, with its text; nothing when it
/// says nothing.
std::string report_mistake(const Graph&, const std::function<std::string(const Graph&)>& find_mistake);

}  // namespace millrace::test
