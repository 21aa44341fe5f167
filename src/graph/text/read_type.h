// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/text/read_type.h"

namespace millrace {

/// Fails if the type, which begins at `begin`, exceeds the limits of every tensor.
Status check_limits(const TextReader&, std::size_t begin, const TensorType&);
/// Reads the optional type after an operation's ':', which must equal `found`, the type of the result of `what`.
Status read_same_type(TextReader&, std::map<std::string, Dim>& symbols, const TensorType& found, std::string_view what);

}  // namespace millrace
