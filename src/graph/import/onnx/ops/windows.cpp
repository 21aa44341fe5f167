// SPDX-License-Identifier: Apache-2.0
// Reads the attributes that convolutions and pools share.
#include "graph/import/onnx/ops/windows.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace {
namespace {

/// A list with one number of at least `minimum` per spatial dim; ones if the node has none.
Result<std::vector<std::int64_t>> read_list(OnnxNodeContext& node, std::string_view name, std::size_t count,
                                            std::int64_t minimum) {
  MILLRACE_TRY_ASSIGN(std::optional<std::vector<std::int64_t>> list, node.integers_attribute(name));
  if (!list) return std::vector<std::int64_t>(count, 1);
  if (list->size() != count) {
    return node.attribute_error(name, fmt::format("has {} numbers, expected {}", list->size(), count));
  }
  for (const std::int64_t number : *list) {
    if (number >= kWindowLimit) {
      return node.attribute_error(name, fmt::format("found {}, expected less than 2^31", number));
    }
    if (number < minimum) {
      return node.attribute_error(name, fmt::format("found {}, expected {} or more", number, minimum));
    }
  }
  return *std::move(list);
}

/// Pads for ceil(extent / stride) results. An odd element of padding goes after x for SAME_UPPER, before x for
/// SAME_LOWER.
Status pad_same(OnnxNodeContext& node, const Shape& x, bool is_upper, OnnxWindow& window) {
  for (std::size_t d = 0; d < window.kernel.size(); ++d) {
    const SizeExpr& extent = x[d + 2];
    const std::int64_t reach = (window.kernel[d] - 1) * window.dilations[d] + 1;
    std::int64_t total = reach - 1;
    if (window.strides[d] != 1) {
      if (!extent.is_constant()) {
        return node.attribute_error("auto_pad", fmt::format("depends on {}; give the dim a value", extent.to_text()));
      }
      const std::int64_t count = (extent.constant() + window.strides[d] - 1) / window.strides[d];
      total = std::max<std::int64_t>((count - 1) * window.strides[d] + reach - extent.constant(), 0);
    }
    window.low[d] = is_upper ? total / 2 : total - total / 2;
    window.high[d] = total - window.low[d];
  }
  return {};
}

}  // namespace

Result<OnnxWindow> read_window(OnnxNodeContext& node, const Shape& x, std::vector<std::int64_t> kernel,
                               bool pads_same) {
  if (x.rank() < 3) return node.operand_error(0, fmt::format("has rank {}, expected 3 or more", x.rank()));
  const std::size_t count = x.rank() - 2;
  OnnxWindow window;
  if (node.has_attribute("kernel_shape")) {
    MILLRACE_TRY_ASSIGN(window.kernel, read_list(node, "kernel_shape", count, 1));
    if (!kernel.empty() && kernel != window.kernel) {
      return node.attribute_error("kernel_shape", "differs from the dims of the weights");
    }
  } else if (kernel.size() != count) {
    return node.attribute_error("kernel_shape", "is missing");
  } else {
    window.kernel = std::move(kernel);
  }
  for (const std::int64_t extent : window.kernel) {
    if (extent >= kWindowLimit)
      return unimplemented(fmt::format(": has windows of {}, expected less than 2^31", extent));
  }
  MILLRACE_TRY_ASSIGN(window.strides, read_list(node, "strides", count, 1));
  MILLRACE_TRY_ASSIGN(window.dilations, read_list(node, "dilations", count, 1));
  window.low.assign(count, 0);
  window.high.assign(count, 0);
  MILLRACE_TRY_ASSIGN(const std::string_view auto_pad, node.text_attribute("auto_pad", "NOTSET"));
  MILLRACE_TRY_ASSIGN(const std::optional<std::vector<std::int64_t>> pads, node.integers_attribute("pads"));
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    if (pads_same) MILLRACE_TRY(pad_same(node, x, auto_pad == "SAME_UPPER", window));
  } else if (auto_pad == "NOTSET" && pads) {
    if (pads->size() != 2 * count) {
      return node.attribute_error("pads", fmt::format("has {} numbers, expected {}", pads->size(), 2 * count));
    }
    for (const std::int64_t number : *pads) {
      if (number > -kWindowLimit && number < kWindowLimit) continue;
      return node.attribute_error("pads", fmt::format("found {}, expected numbers between -2^31 and 2^31", number));
    }
    const auto middle = pads->begin() + static_cast<std::ptrdiff_t>(count);
    window.low.assign(pads->begin(), middle);
    window.high.assign(middle, pads->end());
  } else if (auto_pad != "NOTSET" && auto_pad != "VALID") {
    return node.attribute_error("auto_pad", "found an unknown name, expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  }
  return window;
}

}  // namespace millrace
