// SPDX-License-Identifier: Apache-2.0
// Imports ConvTranspose as a convolution: zeros spread the operand by the strides, and the weights are mirrored.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "graph/import/onnx/ops/image/unfold.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/image.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// How many elements to cut off each end of one dim of the widest result, which contains every window entirely. A
/// negative number adds elements.
struct Cut {
  SizeExpr low, high;
};

/// With auto_pad or output_shape, the extents of the result determine what is cut.
Result<std::vector<Cut>> cuts_to_extents(OnnxNodeContext& node, const Shape& x, const OnnxWindow& window,
                                         const std::vector<std::int64_t>& added, std::string_view auto_pad) {
  MILLRACE_TRY_ASSIGN(const std::optional<std::vector<std::int64_t>> wanted, node.integers_attribute("output_shape"));
  const std::size_t count = window.kernel.size();
  // Some models also list the batch and the channels.
  if (wanted && wanted->size() != count && wanted->size() != count + 2) {
    return node.attribute_error("output_shape", fmt::format("has {} numbers, expected {}", wanted->size(), count));
  }
  const auto is_wrong = [](std::int64_t number) { return number < 0 || number > std::int64_t{1} << 48; };
  if (wanted && std::ranges::any_of(*wanted, is_wrong)) {
    return node.attribute_error("output_shape", "expected numbers from 0 to 2^48");
  }
  std::vector<Cut> cuts;
  for (std::size_t d = 0; d < count; ++d) {
    const std::int64_t reach = (window.kernel[d] - 1) * window.dilations[d] + 1;
    const SizeExpr widest = (x[d + 2] - 1) * window.strides[d] + reach + added[d];
    const SizeExpr extent = wanted ? SizeExpr((*wanted)[wanted->size() - count + d]) : x[d + 2] * window.strides[d];
    const SizeExpr total = widest - extent;
    // Elements that no window reaches are added at the end.
    const SizeExpr shared = max(total, 0), half = floor_div(shared, 2);
    const SizeExpr low = auto_pad == "SAME_UPPER" ? half : shared - half;
    cuts.push_back({low, total - low - added[d]});
  }
  return cuts;
}

Result<std::vector<Cut>> read_cuts(OnnxNodeContext& node, const Shape& x, const OnnxWindow& window) {
  const std::size_t count = window.kernel.size();
  MILLRACE_TRY_ASSIGN(std::optional<std::vector<std::int64_t>> added, node.integers_attribute("output_padding"));
  if (!added) added.emplace(count, 0);
  const auto is_wrong = [](std::int64_t number) { return number < 0 || number >= kWindowLimit; };
  if (added->size() != count || std::ranges::any_of(*added, is_wrong)) {
    return node.attribute_error("output_padding", fmt::format("expected {} numbers from 0 to less than 2^31", count));
  }
  MILLRACE_TRY_ASSIGN(const std::string_view auto_pad, node.text_attribute("auto_pad", "NOTSET"));
  if (node.has_attribute("output_shape") || auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    return cuts_to_extents(node, x, window, *added, auto_pad);
  }
  std::vector<Cut> cuts;
  for (std::size_t d = 0; d < count; ++d) cuts.push_back({window.low[d], window.high[d] - (*added)[d]});
  return cuts;
}

/// weights[c, o / groups, ...] as weights[o, c / groups, ...], mirrored in each spatial dim.
Tensor turn_weights(Tensor weights, std::int64_t groups) {
  const Shape from = weights.shape();
  std::vector<std::int64_t> spatial(from.rank() - 2);
  std::iota(spatial.begin(), spatial.end(), 2);
  weights = flip(weights, spatial);
  const SizeExpr group_channels = floor_div(from[0], groups);
  std::vector<SizeExpr> apart = {groups, group_channels, from[1]}, joined = {groups * from[1], group_channels};
  std::vector<std::int64_t> permutation = {0, 2, 1};
  for (std::size_t d = 2; d < from.rank(); ++d) {
    apart.push_back(from[d]);
    joined.push_back(from[d]);
    permutation.push_back(static_cast<std::int64_t>(d) + 1);
  }
  return reshape(transpose(reshape(weights, Shape(apart)), permutation), Shape(joined));
}

/// Checks the ranks and the groups. Returns the kernel's extents, which are the spatial dims of the weights.
Result<std::vector<std::int64_t>> check_weights(OnnxNodeContext& node, const TensorType& x, const TensorType& weights,
                                                std::int64_t groups) {
  const std::size_t rank = x.shape.rank();
  if (rank < 3 || rank >= kMaxRank) {
    return node.operand_error(0, fmt::format("has rank {}, expected 3 to {}", rank, kMaxRank - 1));
  }
  if (weights.shape.rank() != rank) {
    return node.operand_error(1, fmt::format("has rank {}, expected {}", weights.shape.rank(), rank));
  }
  if (groups < 1 || weights.shape[0] != x.shape[1] || x.shape[1].known_multiple() % groups != 0) {
    return node.operand_error(1, fmt::format("is {}, expected the channels of {} in dim 0, in {} equal groups",
                                             weights.to_text(), x.to_text(), groups));
  }
  std::vector<std::int64_t> kernel;
  for (std::size_t d = 2; d < rank; ++d) {
    if (!weights.shape[d].is_constant() || weights.shape[d].constant() < 1) {
      return node.operand_error(1, fmt::format("is {}, expected windows of known size", weights.to_text()));
    }
    kernel.push_back(weights.shape[d].constant());
  }
  return kernel;
}

}  // namespace

Result<OnnxResults> import_conv_transpose(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor weights, node.tensor(1));
  MILLRACE_TRY_ASSIGN(const Tensor bias, node.optional_tensor(2));
  MILLRACE_TRY_ASSIGN(const std::int64_t groups, node.integer_attribute("group", 1));
  MILLRACE_TRY_ASSIGN(std::vector<std::int64_t> kernel, check_weights(node, x.type(), weights.type(), groups));
  MILLRACE_TRY_ASSIGN(OnnxWindow window, read_window(node, x.shape(), std::move(kernel), false));
  MILLRACE_TRY_ASSIGN(const std::vector<Cut> cuts, read_cuts(node, x.shape(), window));
  Tensor apart = x;
  const std::size_t rank = x.shape().rank();
  std::vector<SizeExpr> low(rank), high(rank);
  for (std::size_t d = 2; d < rank; ++d) {
    const std::int64_t border = (window.kernel[d - 2] - 1) * window.dilations[d - 2];
    apart = spread(apart, static_cast<std::int64_t>(d), window.strides[d - 2]);
    MILLRACE_TRY_ASSIGN(apart, node.built(apart));
    low[d] = border - cuts[d - 2].low;
    high[d] = border - cuts[d - 2].high;
  }
  MILLRACE_TRY_ASSIGN(apart, node.built(pad_or_cut(apart, low, high)));
  MILLRACE_TRY_ASSIGN(const Tensor turned, node.built(turn_weights(weights, groups)));
  window.strides.assign(rank - 2, 1);
  window.low.assign(rank - 2, 0);
  window.high.assign(rank - 2, 0);
  MILLRACE_TRY_ASSIGN(const Tensor result, node.built(convolve(apart, turned, window, groups)));
  return bias.builder() == nullptr ? result : add_channels(result, bias);
}

}  // namespace millrace
