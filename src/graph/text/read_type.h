// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/text/reader.h"
#include "millrace/base/shape.h"

namespace millrace {

/// Reads "f32"; the error lists the known names.
Result<DType> read_dtype(TextReader&);

/// "f32[rows in 1..64, 8]" or "f32[4x8]".
Result<TensorType> read_type(TextReader&, std::map<std::string, Dim>& symbols);

}  // namespace millrace
