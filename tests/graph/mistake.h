// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "millrace/graph/text.h"

namespace millrace {

/// A text of a graph with a mistake, and the whole message that parse_graph gives for it; the text's name is g.mr.
struct Mistake {
  const char* text;
  const char* message;
};

void expect_errors(std::span<const Mistake>);

}  // namespace millrace
