// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/text/reader.h"
#include "graph/text/constant_text.h"
#include "millrace/base/shape.h"

namespace millrace {

/// What constants are read from.
struct ConstantSource {
  TextReader& text;
  ConstantFiles& files;
  std::map<std::string, Dim>& symbols;
};

/// Reads the elements and the type of a constant behind the word "constant". One element may stand for all; then the
/// bytes are those of one.
Result<ConstantFiles::Constant> read_constant(const ConstantSource&);
/// The same of a variable. In the body of a loop it has no elements.
Result<ConstantFiles::Constant> read_variable(const ConstantSource&, bool is_in_body);

}  // namespace millrace
