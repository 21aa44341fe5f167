// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "millrace/ops/attributes.h"

namespace millrace {

/// Like to_text(attributes, stated), but prints numbers as values of operand 0, whose dtype is `elements`: "{value =
/// true}" for bool. If `stated` is null, symbols are printed without facts.
std::string attributes_text(const Attributes&, std::optional<DType> elements, std::map<std::string, Dim>* stated);

}  // namespace millrace
