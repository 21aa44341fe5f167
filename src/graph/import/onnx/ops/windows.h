// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "graph/import/onnx/node_context.h"

namespace millrace {

/// Kernels, strides, dilations and padding must be below this, so that no product of two of them overflows.
inline constexpr std::int64_t kWindowLimit = std::int64_t{1} << 31;

/// The attributes that convolutions and pools share, one per spatial dim.
struct OnnxWindow {
  std::vector<std::int64_t> kernel, strides, dilations;
  std::vector<std::int64_t> low, high;  // padding before and after
};

/// Reads kernel_shape, strides, dilations, pads and auto_pad for an operand x[n, c, ...]. `kernel` is used if the node
/// has no kernel_shape. With auto_pad, the spatial dims must be numbers where the padding depends on them. If
/// `!pads_same`, SAME_UPPER and SAME_LOWER give a padding of 0, and the caller pads.
Result<OnnxWindow> read_window(OnnxNodeContext& node, const Shape& x, std::vector<std::int64_t> kernel = {},
                               bool pads_same = true);

}  // namespace millrace
