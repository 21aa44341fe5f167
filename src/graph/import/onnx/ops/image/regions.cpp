// SPDX-License-Identifier: Apache-2.0
// Imports RoiAlign and DeformConv, which read images at computed points.
#include <algorithm>

#include <fmt/format.h>

#include "graph/import/onnx/ops/image/sample.h"
#include "graph/import/onnx/ops/image/unfold.h"
#include "millrace/base/printable.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/image.inc"
#undef MILLRACE_ONNX_OP

namespace {

struct RoiAttributes {
  std::int64_t height = 1, width = 1, num_samples = 1;
  double spatial_scale = 1;
  bool is_half_pixel = true, is_max = false;
};

Result<RoiAttributes> read_roi_attributes(OnnxNodeContext& node) {
  RoiAttributes read;
  MILLRACE_TRY_ASSIGN(read.height, node.integer_attribute("output_height", 1));
  MILLRACE_TRY_ASSIGN(read.width, node.integer_attribute("output_width", 1));
  MILLRACE_TRY_ASSIGN(read.num_samples, node.integer_attribute("sampling_ratio", 0));
  MILLRACE_TRY_ASSIGN(read.spatial_scale, node.number_attribute("spatial_scale", 1));
  MILLRACE_TRY_ASSIGN(const std::string_view mode, node.text_attribute("mode", "avg"));
  if (mode != "avg" && mode != "max") {
    return node.attribute_error("mode", fmt::format("found '{}', expected avg or max", printable(mode)));
  }
  read.is_max = mode == "max";
  read.is_half_pixel = false;
  if (node.version() >= 16) {
    MILLRACE_TRY_ASSIGN(const std::string_view coordinates,
                        node.text_attribute("coordinate_transformation_mode", "half_pixel"));
    if (coordinates != "half_pixel" && coordinates != "output_half_pixel") {
      return node.attribute_error(
          "coordinate_transformation_mode",
          fmt::format("found '{}', expected half_pixel or output_half_pixel", printable(coordinates)));
    }
    read.is_half_pixel = coordinates == "half_pixel";
  }
  constexpr std::int64_t kMaxPoints = std::int64_t{1} << 15;  // per axis; the product of two of them does not overflow
  if (read.num_samples < 1) {
    return node.attribute_error("sampling_ratio",
                                "found less than 1, expected 1 or more; otherwise the elements of rois decide how "
                                "many points are read");
  }
  if (std::min(read.height, read.width) < 1 || std::max({read.height, read.width, read.num_samples}) > kMaxPoints) {
    return invalid_argument(
        fmt::format(": output_height, output_width and sampling_ratio are {}, {} and {}, expected 1 to {}", read.height,
                    read.width, read.num_samples, kMaxPoints));
  }
  return read;
}

/// The two neighbours of each sample along one axis, [rois, bins * samples]. `start` and `end` are [rois, 1].
std::vector<OnnxTap> roi_taps(Tensor start, Tensor end, std::int64_t num_bins, const SizeExpr& extent,
                              const RoiAttributes& attributes) {
  GraphBuilder& graph = *start.builder();
  const double offset = attributes.is_half_pixel ? 0.5 : 0;
  const Tensor first = start * attributes.spatial_scale - offset;
  Tensor length = end * attributes.spatial_scale - offset - first;
  if (!attributes.is_half_pixel) length = max(length, 1);
  const std::int64_t count = num_bins * attributes.num_samples;
  const Tensor i = iota(graph, start.dtype(), {1, count}, 1);
  const Tensor at = first + (i + 0.5) * (length / static_cast<double>(count));
  const Tensor last = cast(size_of(graph, extent - 1), start.dtype());
  const Tensor is_outside = logical_or(less(at, -1), greater(at, last + 1.0));
  const Tensor inside = max(min(at, last), 0);
  const Tensor below = floor(inside), share = inside - below;
  const auto tap = [&](Tensor place, Tensor weight) {
    return OnnxTap{cast(min(place, last), DType::kI64), where(is_outside, 0, weight)};
  };
  return {tap(below, 1.0 - share), tap(below + 1.0, share)};
}

/// x[n, c, h, w] at the samples, [c, rois, y, x].
Tensor sample_rois(Tensor x, Tensor batch, const std::vector<OnnxTap>& rows, const std::vector<OnnxTap>& columns,
                   bool is_max) {
  GraphBuilder& graph = *x.builder();
  const Shape shape = x.shape();
  const Tensor flat = reshape(transpose(x, {1, 0, 2, 3}), {shape[1], shape[0] * shape[2] * shape[3]});
  // An index of the batch that is out of range must not read another image.
  const Tensor image = where(less(batch, 0), size_of(graph, shape[0]), batch);
  Tensor all;
  for (const OnnxTap& row : rows) {
    for (const OnnxTap& column : columns) {
      const Tensor line = reshape(image, {-1, 1}) * size_of(graph, shape[2]) + row.index;
      const Tensor index = unsqueeze(line * size_of(graph, shape[3]), {2}) + unsqueeze(column.index, {1});
      const Tensor weight = unsqueeze(row.weight, {2}) * unsqueeze(column.weight, {1});
      const Tensor part = where(equal(weight, 0), 0, gather(flat, index, 1) * weight);
      all = !all.is_valid() ? part : is_max ? max(all, part) : all + part;
    }
  }
  return all;
}

}  // namespace

/// The mean, or the maximum, of a grid of samples per bin. The maximum is over the weighted neighbours of all samples,
/// as ONNX defines it, not over the interpolated samples.
Result<OnnxResults> import_roi_align(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor rois, node.tensor(1));
  MILLRACE_TRY_ASSIGN(const Tensor batch, node.tensor(2));
  MILLRACE_TRY_ASSIGN(const RoiAttributes attributes, read_roi_attributes(node));
  const Shape &from = x.shape(), &boxes = rois.shape();
  const bool fits = from.rank() == 4 && boxes.rank() == 2 && boxes[1].is(4) && batch.shape() == Shape({boxes[0]});
  if (!fits || !is_float(x.dtype()) || batch.dtype() != DType::kI64) {
    return invalid_argument(fmt::format(": found {}, {} and {}, expected images, rois x 4, and an i64 index per roi",
                                        x.type().to_text(), rois.type().to_text(), batch.type().to_text()));
  }
  const DType dtype = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor corners = cast(rois, dtype);
  const auto corner = [&](std::int64_t i) { return slice(corners, {0, i}, {boxes[0], i + 1}); };
  const std::vector<OnnxTap> rows = roi_taps(corner(1), corner(3), attributes.height, from[2], attributes);
  const std::vector<OnnxTap> columns = roi_taps(corner(0), corner(2), attributes.width, from[3], attributes);
  const Tensor samples = sample_rois(cast(x, dtype), batch, rows, columns, attributes.is_max);
  const std::int64_t count = attributes.num_samples;
  const Tensor bins = reshape(samples, {from[1], boxes[0], attributes.height, count, attributes.width, count});
  const Tensor result = attributes.is_max ? reduce_max(bins, {3, 5}) : reduce_mean(bins, {3, 5});
  return cast(transpose(result, {1, 0, 2, 3}), x.dtype());
}

namespace {

/// The operands of DeformConv, with checked shapes.
struct DeformConv {
  Tensor x, weights, offset, mask;
  OnnxWindow window;
  std::int64_t groups = 1, offset_groups = 1;

  std::int64_t num_points() const { return window.kernel[0] * window.kernel[1]; }
};

Result<DeformConv> read_deform_conv(OnnxNodeContext& node) {
  DeformConv read;
  MILLRACE_TRY_ASSIGN(read.x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(read.weights, node.tensor(1));
  MILLRACE_TRY_ASSIGN(read.offset, node.tensor(2));
  MILLRACE_TRY_ASSIGN(read.mask, node.optional_tensor(4));
  MILLRACE_TRY_ASSIGN(read.groups, node.integer_attribute("group", 1));
  MILLRACE_TRY_ASSIGN(read.offset_groups, node.integer_attribute("offset_group", 1));
  const Shape &x = read.x.shape(), &weights = read.weights.shape(), &offset = read.offset.shape();
  const bool are_images = x.rank() == 4 && weights.rank() == 4 && offset.rank() == 4 && weights[2].is_constant() &&
                          weights[3].is_constant();
  if (!are_images || read.groups < 1 || read.offset_groups < 1) {
    return unimplemented(fmt::format(": found {}, {} and {}, expected rank 4, with windows of known size",
                                     read.x.type().to_text(), read.weights.type().to_text(),
                                     read.offset.type().to_text()));
  }
  MILLRACE_TRY_ASSIGN(read.window, read_window(node, x, {weights[2].constant(), weights[3].constant()}));
  const bool fits = x[1] == weights[1] * read.groups && weights[0].known_multiple() % read.groups == 0 &&
                    x[1].known_multiple() % read.offset_groups == 0 &&
                    offset[1] == SizeExpr(2) * read.offset_groups * read.num_points() &&
                    offset[2] == axis_window(read.window, x, 0).count() &&
                    offset[3] == axis_window(read.window, x, 1).count();
  if (!fits) {
    return invalid_argument(fmt::format(": {}, {} and {} do not fit together with the groups", read.x.type().to_text(),
                                        read.weights.type().to_text(), read.offset.type().to_text()));
  }
  return read;
}

/// The positions along dim 2 + d at which the windows read, [n, offset groups, points * results].
Tensor deformed_positions(const DeformConv& conv, std::int64_t d, DType dtype) {
  GraphBuilder& graph = *conv.x.builder();
  const Shape& offset = conv.offset.shape();
  const auto dim = static_cast<std::size_t>(d);
  const std::int64_t kernel[] = {conv.window.kernel[0], conv.window.kernel[1]};
  const Tensor moved =
      slice(reshape(cast(conv.offset, dtype),
                    {offset[0], conv.offset_groups, kernel[0] * kernel[1], 2, offset[2], offset[3]}),
            {0, 0, 0, d, 0, 0}, {offset[0], conv.offset_groups, kernel[0] * kernel[1], d + 1, offset[2], offset[3]});
  const Tensor apart = reshape(moved, {offset[0], conv.offset_groups, kernel[0], kernel[1], offset[2], offset[3]});
  const Tensor places = cast(window_positions(graph, axis_window(conv.window, conv.x.shape(), dim)), dtype);
  std::vector<SizeExpr> dims(4, SizeExpr(1));
  dims[dim] = kernel[dim];
  dims[2 + dim] = offset[2 + dim];
  return reshape(apart + reshape(transpose(places, {1, 0}), Shape(dims)), {offset[0], conv.offset_groups, -1});
}

}  // namespace

/// Each point of each window is moved by an offset, read by linear interpolation, and multiplied by the mask.
Result<OnnxResults> import_deform_conv(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const DeformConv conv, read_deform_conv(node));
  MILLRACE_TRY_ASSIGN(const Tensor bias, node.optional_tensor(3));
  const Shape &from = conv.x.shape(), &offset = conv.offset.shape(), &kernel = conv.weights.shape();
  const DType dtype = conv.x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  std::vector<std::vector<OnnxTap>> taps;
  for (std::int64_t d = 0; d < 2; ++d) {
    MILLRACE_TRY_ASSIGN(const Tensor positions, node.built(deformed_positions(conv, d, dtype)));
    taps.push_back(linear_taps(positions, from[static_cast<std::size_t>(d) + 2]));
  }
  MILLRACE_TRY_ASSIGN(Tensor read, node.built(sample(cast(conv.x, dtype), taps)));
  const std::int64_t points = conv.num_points();
  const SizeExpr area = offset[2] * offset[3];
  if (conv.mask.builder() != nullptr) {
    const Tensor mask = reshape(cast(conv.mask, dtype), {from[0], conv.offset_groups, 1, points * area});
    const SizeExpr channels = floor_div(from[1], conv.offset_groups);
    read = reshape(read, {from[0], conv.offset_groups, channels, points * area}) * mask;
  }
  const Tensor columns = reshape(read, {from[0], conv.groups, kernel[1] * points, area});
  const Tensor rows =
      reshape(cast(conv.weights, dtype), {conv.groups, floor_div(kernel[0], conv.groups), kernel[1] * points});
  const Tensor products = reshape(matmul(rows, columns), {from[0], kernel[0], offset[2], offset[3]});
  MILLRACE_TRY_ASSIGN(const Tensor result, node.built(cast(products, conv.x.dtype())));
  return bias.builder() == nullptr ? result : add_channels(result, bias);
}

}  // namespace millrace
