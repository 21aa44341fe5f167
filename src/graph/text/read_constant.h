// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/text/reader.h"
#include "graph/text/constant_text.h"
#include "millrace/base/shape.h"

namespace millrace {

/// The source of a constant's elements.
struct ConstantSource {
  TextReader& text;
  ConstantFiles& files;
  std::map<std::string, Dim>& symbols;
};

/// Reads the elements and the type of a constant after the word "constant". If one element stands for all, returns the
/// bytes of that element.
Result<ConstantFiles::Constant> read_constant(const ConstantSource&);
/// Does the same for a variable, which has no elements in the body of a loop.
Result<ConstantFiles::Constant> read_variable(const ConstantSource&, bool is_in_body);

}  // namespace millrace
