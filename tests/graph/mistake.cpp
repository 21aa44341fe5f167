// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/mistake.h"

#include <doctest/doctest.h>

namespace millrace {

void expect_errors(std::span<const Mistake> mistakes) {
  for (const Mistake& mistake : mistakes) {
    CAPTURE(std::string(mistake.text));
    CHECK(parse_graph(mistake.text, {.name = "g.mr"}).status().message() == std::string(mistake.message));
  }
}

}  // namespace millrace
