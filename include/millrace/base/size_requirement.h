// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "millrace/base/size_expr.h"

namespace millrace {

/// A check that is left to the run, because only the run knows the sizes: small <= large.
struct SizeRequirement {
  SizeExpr small;
  SizeExpr large;
  std::string_view reason = {};  // a literal, where the sizes do not speak for themselves
};

}  // namespace millrace
