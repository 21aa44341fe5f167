// SPDX-License-Identifier: Apache-2.0
// Imports MaxRoiPool, and refuses the ops on images that are not supported.
#include <limits>

#include <fmt/format.h>

#include "graph/import/onnx/node_context.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/image.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// Which elements of one axis belong to each bin, and which bins are empty.
struct RoiBins {
  Tensor holds;     // bool[rois, bins, extent]
  Tensor is_empty;  // bool[rois, bins]
};

/// Halves are rounded away from 0.
Tensor round_away(Tensor x) { return sign(x) * floor(abs(x) + 0.5); }

/// `start` and `end` are the scaled corners, f32[rois, 1].
RoiBins roi_bins(Tensor start, Tensor end, std::int64_t num_bins, const SizeExpr& extent) {
  GraphBuilder& graph = *start.builder();
  const Tensor first = round_away(start);
  const Tensor bin = max(round_away(end) - first + 1.0, 1) / static_cast<double>(num_bins);
  const Tensor i = iota(graph, DType::kF32, {1, num_bins}, 1);
  const Tensor limit = cast(size_of(graph, extent), DType::kF32);
  const auto inside = [&](Tensor place) { return max(min(place, limit), 0); };
  const Tensor low = inside(floor(i * bin) + first), high = inside(ceil((i + 1.0) * bin) + first);
  const Tensor place = iota(graph, DType::kF32, {1, 1, extent}, 2);
  return {logical_and(greater_equal(place, unsqueeze(low, {2})), less(place, unsqueeze(high, {2}))),
          less_equal(high, low)};
}

}  // namespace

/// The maximum of each bin of each roi; 0 for an empty bin. A row of rois holds the index of the image, and then x and
/// y of two corners.
Result<OnnxResults> import_max_roi_pool(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor rois, node.tensor(1));
  MILLRACE_TRY_ASSIGN(const double scale, node.number_attribute("spatial_scale", 1));
  MILLRACE_TRY_ASSIGN(const auto pooled, node.integers_attribute("pooled_shape"));
  if (!pooled || pooled->size() != 2 || (*pooled)[0] < 1 || (*pooled)[1] < 1) {
    return node.attribute_error("pooled_shape", "expected two numbers of 1 or more");
  }
  const Shape &from = x.shape(), &boxes = rois.shape();
  if (from.rank() != 4 || boxes.rank() != 2 || !boxes[1].is(5) || !is_float(x.dtype()) || !is_float(rois.dtype())) {
    return invalid_argument(fmt::format(": found {} and {}, expected floats n x c x h x w and rois x 5",
                                        x.type().to_text(), rois.type().to_text()));
  }
  GraphBuilder& graph = node.graph();
  const auto column = [&](std::int64_t i) { return cast(slice(rois, {0, i}, {boxes[0], i + 1}), DType::kF32); };
  const Tensor batch = reshape(cast(column(0), DType::kI64), {boxes[0]});
  // An index of the batch that is out of range must not read another image.
  const Tensor images = gather(x, where(less(batch, 0), size_of(graph, from[0]), batch), 0);
  const RoiBins rows = roi_bins(column(2) * scale, column(4) * scale, (*pooled)[0], from[2]);
  const RoiBins columns = roi_bins(column(1) * scale, column(3) * scale, (*pooled)[1], from[3]);
  const Tensor lowest = graph.fill(x.dtype(), {}, -std::numeric_limits<double>::infinity());
  const Tensor in_rows = where(unsqueeze(rows.holds, {1, 4}), unsqueeze(images, {2}), lowest);
  const Tensor of_rows = reduce_max(in_rows, {3});  // [rois, c, bins, w]
  const Tensor in_columns = where(unsqueeze(columns.holds, {1, 2}), unsqueeze(of_rows, {3}), lowest);
  const Tensor is_empty = logical_or(unsqueeze(rows.is_empty, {2}), unsqueeze(columns.is_empty, {1}));
  return where(unsqueeze(is_empty, {1}), 0, reduce_max(in_columns, {4}));
}

Result<OnnxResults> import_non_max_suppression(OnnxNodeContext&) {
  return unimplemented(": the elements of an operand decide the size of the result, which is not supported");
}

Result<OnnxResults> import_image_decoder(OnnxNodeContext&) {
  return unimplemented(": pictures in files are not supported; decode them first");
}

}  // namespace millrace
