// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/text/reader.h"
#include "millrace/ops/op.h"

namespace millrace {

/// Reads the attributes of `op` as attributes_text writes them, or nothing. Missing attributes get their defaults.
/// `elements` is the dtype of operand 0, if any.
Result<Attributes> read_attributes(TextReader&, Op op, std::optional<DType> elements,
                                   std::map<std::string, Dim>& symbols);

}  // namespace millrace
