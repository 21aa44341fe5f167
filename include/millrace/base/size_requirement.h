// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "millrace/base/size_expr.h"

namespace millrace {

/// A check made at run time, when the sizes are known: small <= large.
struct SizeRequirement {
  SizeExpr small;
  SizeExpr large;
  std::string_view reason = {};  // a string literal that the message adds if the sizes alone do not explain the failure
};

}  // namespace millrace
