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

  /// The distance from a window's first point to just past its last.
  SizeExpr span() const { return (window - 1) * dilation + 1; }
  /// The number of whole windows that fit. Precondition: at least one fits.
  SizeExpr output() const { return floor_div(input + low + high - span(), stride) + 1; }
  bool is_padded() const { return low != 0 || high != 0; }
  /// The index of the input at an output index and a point of the window.
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
