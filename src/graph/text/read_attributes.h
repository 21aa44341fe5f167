// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/text/reader.h"
#include "millrace/ops/op.h"

namespace millrace {

/// The attributes of `op`: what attributes_text writes for them, or nothing. What is left out has its default.
/// `elements` is the dtype of operand 0, if there is one.
Result<Attributes> read_attributes(TextReader&, Op op, std::optional<DType> elements,
                                   std::map<std::string, Dim>& symbols);

}  // namespace millrace
