// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "millrace/jit/loop_kernel_builder.h"
#include "ops/infer.h"

namespace millrace::ops {

/// One spatial dim of a convolution or pool.
struct WindowDim {
  SizeExpr input;  // extent without padding
  SizeExpr window;
  std::int64_t stride = 1;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t dilation = 1;
  bool rounds_up = false;  // also counts windows that begin before the high padding and end after it

  /// The distance from a window's first point to just past its last.
  SizeExpr span() const { return (window - 1) * dilation + 1; }
  /// The number of windows. Precondition: at least one fits.
  SizeExpr output() const {
    const SizeExpr room = input + low + high - span();
    if (!rounds_up) return floor_div(room, stride) + 1;
    return min(ceil_div(room, stride), floor_div(input + low - 1, stride)) + 1;
  }
  /// Whether a window may reach beyond the input.
  bool is_padded() const { return low != 0 || high != 0 || (rounds_up && stride > 1); }
  /// The input index that a point of the window reads at an output index.
  AffineIndex walked_by(const AffineIndex& output_index, const AffineIndex& window_index) const {
    return output_index * stride + window_index * dilation - low;
  }
};

using WindowDims = std::array<WindowDim, 2>;  // h, w

/// Checks the entry counts, strides >= 1 and padding >= 0.
Status check_window_attributes(const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& padding);

/// Precondition: check_window_attributes passed.
WindowDims make_window_dims(const Shape& input, const std::array<SizeExpr, 2>& window,
                            const std::vector<std::int64_t>& strides, const std::vector<std::int64_t>& padding);

/// "operand 0 is f32[1x3x2x2], expected at least 3 rows with padding for a window of 3; pad it or shrink the window"
Status expect_window_fits(Types operands, const WindowDims& dims, std::vector<SizeRequirement>& requirements);

}  // namespace millrace::ops
