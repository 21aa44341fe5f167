// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/misuse.h"

#include <doctest/doctest.h>

namespace millrace {

void expect_refused(std::span<const Misuse> cases) {
  for (const Misuse& misuse : cases) {
    CAPTURE(std::string(misuse.claim));
    GraphBuilder graph;
    misuse.build(graph);
    const Result<Graph> finished = graph.finish();
    CHECK(finished.status().message() == std::string(misuse.message));
    CHECK_FALSE(graph.finish().ok());
  }
}

}  // namespace millrace
