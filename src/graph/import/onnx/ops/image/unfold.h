// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "graph/import/onnx/ops/windows.h"
#include "millrace/graph/builder.h"

namespace millrace {

/// The windows of a convolution or a pool along one axis.
struct OnnxAxisWindow {
  SizeExpr extent;  // of the axis, without padding
  std::int64_t kernel = 1, stride = 1, dilation = 1, low = 0, high = 0;
  bool rounds_up = false;  // also counts windows that begin inside and end after the padding

  std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
  SizeExpr count() const;
};
/// The windows along dim 2 + d of a tensor of this shape.
OnnxAxisWindow axis_window(const OnnxWindow& window, const Shape& shape, std::size_t d);

/// x with low[d] elements added at the start and high[d] at the end of each dim d. Negative counts cut elements off.
Tensor pad_or_cut(Tensor x, const std::vector<SizeExpr>& low, const std::vector<SizeExpr>& high, Number value = 0);

/// Replaces the axis by two: the windows, and the points of each window. Points outside x equal `fill`.
Tensor unfold(Tensor x, std::int64_t axis, const OnnxAxisWindow& window, Number fill);

/// i64[count, kernel]: the position of each point of each window. Padding before x has the positions from -low to -1.
Tensor window_positions(GraphBuilder& graph, const OnnxAxisWindow& window);

/// Adds stride - 1 zeros after each element of the axis except the last one.
Tensor spread(Tensor x, std::int64_t axis, std::int64_t stride);

/// Turns a window of one dim into a window of two dims, with extent 1 in the new first dim.
OnnxWindow with_row(OnnxWindow window);
/// x[n, c, ...], weights[o, c / groups, ...] -> [n, o, ...]: cross-correlation with zero padding, over any number of
/// dims. The padding may be negative. For i8 and u8, in any mixture, sums and result are i32.
Tensor convolve(Tensor x, Tensor weights, const OnnxWindow& window, std::int64_t groups);

/// x[n, c, ...] plus bias[c].
Tensor add_channels(Tensor x, Tensor bias);

}  // namespace millrace
