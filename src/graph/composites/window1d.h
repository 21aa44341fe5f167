// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "millrace/base/shape.h"
#include "millrace/base/status.h"

namespace millrace {

/// The window of a pool or a convolution along w of x[n, c, w].
struct Window1d {
  SizeExpr extent;
  std::int64_t stride = 1, padding_low = 0, padding_high = 0, dilation = 1;
};

/// Checks what the 2-d op would check, so that messages show the caller's operand and attributes.
Status expect_window1d(const TensorType& x, const Window1d&);

}  // namespace millrace
