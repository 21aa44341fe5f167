// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/text/reader.h"
#include "millrace/base/size_expr.h"

namespace millrace {

/// parse_size_expr inside a longer text: reads to the end of the size, no further.
Result<SizeExpr> read_size_expr(TextReader&, std::map<std::string, Dim>& symbols);

}  // namespace millrace
