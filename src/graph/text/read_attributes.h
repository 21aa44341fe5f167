// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/text_reader.h"
#include "millrace/ops/op.h"

namespace millrace {

/// The attributes of `op`: what to_text writes for them, or nothing. What is left out has its default.
Result<Attributes> read_attributes(TextReader&, Op op, std::map<std::string, Dim>& symbols);

}  // namespace millrace
