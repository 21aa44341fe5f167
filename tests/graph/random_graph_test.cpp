// SPDX-License-Identifier: Apache-2.0
// What the random graphs of the tests have in them. tests/random_graphs.cpp runs them.
#include "tests/support/random_graph.h"

#include <set>

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("the tested random graphs have every op") {
  std::set<Op> seen;
  for (std::uint64_t seed = 1; seed <= test::kTestedGraphs; ++seed) {
    for (const Node& node : test::make_random_graph(seed).graph.nodes) {
      if (const auto* op = std::get_if<OpNode>(&node.what)) seen.insert(op->op);
    }
  }
  for (const Op op : kAllOps) CHECK_MESSAGE(seen.contains(op), to_text(op), " is in no random graph");
}

}  // namespace
}  // namespace millrace
