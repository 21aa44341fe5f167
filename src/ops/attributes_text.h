// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "millrace/ops/attributes.h"

namespace millrace {

/// Like to_text(attributes, stated), with numbers as operand 0, whose dtype is `elements`, has them: "{value = true}"
/// for bool. `stated` is null where symbols stand without facts.
std::string attributes_text(const Attributes&, std::optional<DType> elements, std::map<std::string, Dim>* stated);

}  // namespace millrace
