// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/reader.h"
#include "millrace/base/shape.h"

namespace millrace {

/// The dtype with this name, in our spelling or another library's: "f32", "float32".
std::optional<DType> find_dtype(std::string_view name);

/// Reads "f32"; the error lists the known names.
Result<DType> read_dtype(TextReader&);

/// "f32[rows in 1..64, 8]" or "f32[4x8]".
Result<TensorType> read_type(TextReader&, std::map<std::string, Dim>& symbols);

}  // namespace millrace
