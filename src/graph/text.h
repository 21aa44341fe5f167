// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>

#include "millrace/graph/graph.h"

namespace millrace {

/// "%7", or "%7.1" where node 7 has several results. The name that every message uses.
std::string value_text(const Graph&, Value);

}  // namespace millrace
