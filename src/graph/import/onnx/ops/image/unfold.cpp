// SPDX-License-Identifier: Apache-2.0
// Windows along one axis, built by gathers. Convolutions and pools over more than two dims are built from them.
#include "graph/import/onnx/ops/image/unfold.h"

#include <algorithm>

#include <fmt/format.h>

#include "millrace/graph/composites.h"

namespace millrace {

SizeExpr OnnxAxisWindow::count() const {
  const SizeExpr room = extent + low + high - reach();
  if (!rounds_up) return floor_div(room, stride) + 1;
  return min(ceil_div(room, stride), floor_div(extent + low - 1, stride)) + 1;
}

OnnxAxisWindow axis_window(const OnnxWindow& window, const Shape& shape, std::size_t d) {
  return {.extent = shape[d + 2],
          .kernel = window.kernel[d],
          .stride = window.strides[d],
          .dilation = window.dilations[d],
          .low = window.low[d],
          .high = window.high[d]};
}

Tensor pad_or_cut(Tensor x, const std::vector<SizeExpr>& low, const std::vector<SizeExpr>& high, Number value) {
  std::vector<SizeExpr> added_low, added_high, start, stop;
  bool adds = false, cuts = false;
  for (std::size_t d = 0; d < low.size(); ++d) {
    const SizeExpr& extent = x.shape()[d];
    if ((extent + low[d] + high[d]).upper_bound() < 0) {
      return x.builder()->fail(invalid_argument(fmt::format("pads cut {} elements off axis {} of {}; cut fewer",
                                                            (0 - low[d] - high[d]).to_text(), d, x.type().to_text())));
    }
    added_low.push_back(max(low[d], 0));
    added_high.push_back(max(high[d], 0));
    start.push_back(max(0 - low[d], 0));
    stop.push_back(added_low[d] + extent + added_high[d] - max(0 - high[d], 0));
    adds = adds || !added_low[d].is(0) || !added_high[d].is(0);
    cuts = cuts || !start[d].is(0) || max(0 - high[d], 0) != 0;
  }
  // Pad before cutting: one end may lose elements that were added at the other end.
  if (adds) x = pad(x, std::move(added_low), std::move(added_high), value);
  return cuts ? slice(x, std::move(start), std::move(stop)) : x;
}

Tensor window_positions(GraphBuilder& graph, const OnnxAxisWindow& window) {
  const Tensor first = iota(graph, DType::kI64, {window.count(), 1}, 0) * window.stride - window.low;
  return first + iota(graph, DType::kI64, {1, window.kernel}, 1) * window.dilation;
}

Tensor unfold(Tensor x, std::int64_t axis, const OnnxAxisWindow& window, Number fill) {
  GraphBuilder& graph = *x.builder();
  std::vector<SizeExpr> low(x.shape().rank()), high = low;
  const auto dim = static_cast<std::size_t>(axis);
  low[dim] = window.low;
  high[dim] = window.high;
  if (window.rounds_up) {
    // The last window may end after the padding.
    high[dim] = max((window.count() - 1) * window.stride + window.reach() - window.extent - window.low, window.high);
  }
  return gather(pad_or_cut(x, low, high, fill), window_positions(graph, window) + window.low, axis);
}

Tensor spread(Tensor x, std::int64_t axis, std::int64_t stride) {
  if (stride == 1) return x;
  std::vector<SizeExpr> dims = x.shape().dims(), low(dims.size() + 1), high = low;
  const auto dim = static_cast<std::size_t>(axis);
  const SizeExpr extent = dims[dim];
  std::vector<SizeExpr> apart = dims;
  apart.insert(apart.begin() + axis + 1, SizeExpr(1));
  high[dim + 1] = stride - 1;
  dims[dim] = extent * stride;
  const Tensor spread = reshape(pad(reshape(x, Shape(apart)), low, high), Shape(dims));
  std::vector<SizeExpr> stop = dims;
  stop[dim] = max((extent - 1) * stride + 1, 0);
  return slice(spread, std::vector<SizeExpr>(dims.size()), std::move(stop));
}

namespace {

bool is_byte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

Tensor conv2d_of(Tensor x, Tensor weights, Conv2dAttrs attributes) {
  if (x.is_valid() && is_byte(x.dtype())) return conv2d_i32(x, weights, std::move(attributes));
  return conv2d(x, weights, std::move(attributes));
}

Tensor convolve_image(Tensor x, Tensor weights, const OnnxWindow& window, std::int64_t groups) {
  std::vector<SizeExpr> low(4), high(4);
  const std::int64_t padding[] = {window.low[0], window.low[1], window.high[0], window.high[1]};
  const bool can_cut = std::ranges::any_of(padding, [](std::int64_t count) { return count < 0; });
  if (!can_cut) {
    return conv2d_of(x, weights, {window.strides, {std::begin(padding), std::end(padding)}, window.dilations, groups});
  }
  for (std::size_t d = 0; d < 2; ++d) {
    low[2 + d] = window.low[d];
    high[2 + d] = window.high[d];
  }
  return conv2d_of(pad_or_cut(x, low, high), weights, {window.strides, {0, 0, 0, 0}, window.dilations, groups});
}

OnnxWindow without_first(OnnxWindow window) {
  for (std::vector<std::int64_t>* list :
       {&window.kernel, &window.strides, &window.dilations, &window.low, &window.high}) {
    list->erase(list->begin());
  }
  return window;
}

}  // namespace

OnnxWindow with_row(OnnxWindow window) {
  for (std::vector<std::int64_t>* list : {&window.kernel, &window.strides, &window.dilations}) {
    list->insert(list->begin(), 1);
  }
  for (std::vector<std::int64_t>* list : {&window.low, &window.high}) list->insert(list->begin(), 0);
  return window;
}

Tensor convolve(Tensor x, Tensor weights, const OnnxWindow& window, std::int64_t groups) {
  const std::size_t rank = x.shape().rank();
  if (rank == 4) return convolve_image(x, weights, window, groups);
  if (rank == 3) {
    const Tensor result = convolve_image(unsqueeze(x, {2}), unsqueeze(weights, {2}), with_row(window), groups);
    return result.is_valid() ? squeeze(result, {2}) : result;
  }
  // The windows of the first dim become images, and their points channels.
  const OnnxAxisWindow first = axis_window(window, x.shape(), 0);
  const Tensor windows = unfold(x, 2, first, 0);  // [n, c, windows, points, ...]
  if (!windows.is_valid()) return windows;
  std::vector<std::int64_t> permutation = {0, 2, 1, 3};
  const Shape &from = x.shape(), &kernel = weights.shape();
  std::vector<SizeExpr> dims = {from[0] * first.count(), from[1] * first.kernel};
  std::vector<SizeExpr> kernel_dims = {kernel[0], kernel[1] * first.kernel};
  for (std::size_t d = 3; d < rank; ++d) {
    permutation.push_back(static_cast<std::int64_t>(d) + 1);
    dims.push_back(from[d]);
    kernel_dims.push_back(kernel[d]);
  }
  const Tensor result = convolve(reshape(transpose(windows, permutation), Shape(dims)),
                                 reshape(weights, Shape(kernel_dims)), without_first(window), groups);
  if (!result.is_valid()) return result;
  std::vector<SizeExpr> apart = {from[0], first.count()};
  apart.insert(apart.end(), result.shape().dims().begin() + 1, result.shape().dims().end());
  std::vector<std::int64_t> back = {0, 2, 1};
  for (std::size_t d = 3; d < rank; ++d) back.push_back(static_cast<std::int64_t>(d));
  return transpose(reshape(result, Shape(apart)), back);
}

Tensor add_channels(Tensor x, Tensor bias) {
  std::vector<SizeExpr> dims(x.shape().rank() - 1, SizeExpr(1));
  dims[0] = x.shape()[1];
  return x + reshape(bias, Shape(std::move(dims)));
}

}  // namespace millrace
