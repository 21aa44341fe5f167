// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/graph/text.h"

namespace millrace {

/// "%x" for the input of that name, "%7" for node 7, "%7.1" where it has several results. The name in every message.
std::string value_text(const Graph&, Value);

}  // namespace millrace
