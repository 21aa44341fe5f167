// SPDX-License-Identifier: Apache-2.0
// Imports DepthToSpace, SpaceToDepth and Col2Im, which move elements between channels or columns and pixels.
#include <fmt/format.h>

#include "graph/import/onnx/ops/image/unfold.h"
#include "graph/import/onnx/ops/shape_helpers.h"
#include "millrace/base/printable.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/image.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// Makes these dims of an image multiples of the block. The channels become a multiple of its square.
Status match_blocks(OnnxNodeContext& node, Tensor& x, std::initializer_list<std::size_t> axes, std::int64_t block) {
  constexpr std::int64_t kMaxBlock = 1 << 15;
  if (x.shape().rank() != 4 || block < 1 || block > kMaxBlock) return {};  // the op refuses it
  for (const std::size_t axis : axes) {
    MILLRACE_TRY(match_multiple(node, x, axis, axis == 1 ? block * block : block));
  }
  return {};
}

}  // namespace

Result<OnnxResults> import_depth_to_space(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const std::int64_t block, node.integer_attribute("blocksize"));
  MILLRACE_TRY_ASSIGN(const std::string_view mode, node.text_attribute("mode", "DCR"));
  if (mode != "DCR" && mode != "CRD") {
    return node.attribute_error("mode", fmt::format("found '{}', expected DCR or CRD", printable(mode)));
  }
  MILLRACE_TRY(match_blocks(node, x, {1}, block));
  return depth_to_space(x, block, mode == "DCR" ? DepthOrder::kBlockFirst : DepthOrder::kChannelFirst);
}

Result<OnnxResults> import_space_to_depth(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const std::int64_t block, node.integer_attribute("blocksize"));
  std::string_view mode = "DCR";
  if (node.version() >= 28) {
    MILLRACE_TRY_ASSIGN(mode, node.text_attribute("mode", mode));
  }
  if (mode != "DCR" && mode != "CRD") {
    return node.attribute_error("mode", fmt::format("found '{}', expected DCR or CRD", printable(mode)));
  }
  MILLRACE_TRY(match_blocks(node, x, {2, 3}, block));
  MILLRACE_TRY_ASSIGN(const Tensor depth, node.built(space_to_depth(x, block)));
  if (mode == "DCR") return depth;
  // Channels [block^2, c] become [c, block^2].
  const Shape shape = depth.shape();
  const Tensor apart = reshape(depth, {shape[0], block * block, x.shape()[1], shape[2], shape[3]});
  return reshape(transpose(apart, {0, 2, 1, 3, 4}), shape);
}

namespace {

/// The attributes of Col2Im, with the block's extents as the kernel.
Result<OnnxWindow> read_blocks(OnnxNodeContext& node, std::vector<std::int64_t> kernel) {
  const std::size_t count = kernel.size();
  OnnxWindow window{std::move(kernel), {}, {}, {}, {}};
  const auto list = [&](std::string_view name, std::size_t size, std::int64_t otherwise,
                        std::int64_t minimum) -> Result<std::vector<std::int64_t>> {
    MILLRACE_TRY_ASSIGN(const std::optional<std::vector<std::int64_t>> found, node.integers_attribute(name));
    if (!found) return std::vector<std::int64_t>(size, otherwise);
    if (found->size() != size) {
      return node.attribute_error(name, fmt::format("has {} numbers, expected {}", found->size(), size));
    }
    for (const std::int64_t number : *found) {
      if (number < minimum) {
        return node.attribute_error(name, fmt::format("found {}, expected {} or more", number, minimum));
      }
      if (number >= kWindowLimit) {
        return node.attribute_error(name, fmt::format("found {}, expected less than 2^31", number));
      }
    }
    return *found;
  };
  MILLRACE_TRY_ASSIGN(window.strides, list("strides", count, 1, 1));
  MILLRACE_TRY_ASSIGN(window.dilations, list("dilations", count, 1, 1));
  MILLRACE_TRY_ASSIGN(const std::vector<std::int64_t> pads, list("pads", 2 * count, 0, 0));
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(count);
  window.low.assign(pads.begin(), middle);
  window.high.assign(middle, pads.end());
  return window;
}

/// Along one axis, adds each point of each window at its place. x has kernel * count points along that axis; the points
/// of one window are `count` apart.
Tensor fold(Tensor x, std::int64_t axis, const OnnxAxisWindow& window) {
  GraphBuilder& graph = *x.builder();
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(axis)] = window.extent + window.low + window.high;
  const Tensor places = transpose(window_positions(graph, window) + window.low, {1, 0});
  const Tensor zeros = graph.fill(x.dtype(), shape, 0);
  const Tensor sums = scatter_add(zeros, reshape(places, {window.kernel * window.count()}), x, axis);
  std::vector<SizeExpr> low(shape.rank()), high = low;
  low[static_cast<std::size_t>(axis)] = -window.low;
  high[static_cast<std::size_t>(axis)] = -window.high;
  return sums.is_valid() ? pad_or_cut(sums, low, high) : sums;
}

}  // namespace

/// x[n, c * points, windows]: adds each window at its place in the image.
Result<OnnxResults> import_col2im(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Shape image, shape_of_sizes(node, 1));
  MILLRACE_TRY_ASSIGN(const std::vector<std::int64_t> kernel, node.integers(2));
  const std::size_t count = kernel.size();
  std::int64_t points = 1;
  for (const std::int64_t extent : kernel) {
    if (extent < 1) return node.operand_error(2, fmt::format("found {}, expected 1 or more", extent));
    if (extent >= kWindowLimit) return node.operand_error(2, fmt::format("found {}, expected less than 2^31", extent));
    points = saturating::multiply(points, extent);
  }
  constexpr std::size_t kMaxDims = (kMaxRank - 2) / 2;
  if (x.shape().rank() != 3 || image.rank() != count || count == 0 || count > kMaxDims) {
    return unimplemented(
        fmt::format(": found {} with {} image dims and {} block dims, expected rank 3 and equal numbers "
                    "of dims from 1 to {}",
                    x.type().to_text(), image.rank(), count, kMaxDims));
  }
  if (x.shape()[1].known_multiple() % points != 0) {
    return node.operand_error(0, fmt::format("is {}, expected a multiple of {} in dim 1", x.type().to_text(), points));
  }
  MILLRACE_TRY_ASSIGN(const OnnxWindow window, read_blocks(node, kernel));
  const Shape whole([&] {
    std::vector<SizeExpr> dims = {x.shape()[0], floor_div(x.shape()[1], points)};
    dims.insert(dims.end(), image.dims().begin(), image.dims().end());
    return dims;
  }());
  std::vector<SizeExpr> apart = {whole[0], whole[1]}, joined = apart;
  std::vector<std::int64_t> permutation = {0, 1};
  for (std::size_t d = 0; d < count; ++d) apart.push_back(kernel[d]);
  for (std::size_t d = 0; d < count; ++d) {
    apart.push_back(axis_window(window, whole, d).count());
    joined.push_back(kernel[d] * apart.back());
    permutation.push_back(static_cast<std::int64_t>(2 + d));
    permutation.push_back(static_cast<std::int64_t>(2 + count + d));
  }
  Tensor sums = reshape(transpose(reshape(x, Shape(apart)), permutation), Shape(joined));
  for (std::size_t d = 0; d < count; ++d) {
    MILLRACE_TRY_ASSIGN(sums, node.built(sums));
    sums = fold(sums, static_cast<std::int64_t>(2 + d), axis_window(window, whole, d));
  }
  return sums;
}

}  // namespace millrace
