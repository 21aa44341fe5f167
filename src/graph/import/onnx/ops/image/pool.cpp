// SPDX-License-Identifier: Apache-2.0
// Imports pooling over windows. Pools that max_pool2d and avg_pool2d cannot compute become reductions of windows, one
// axis at a time.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "graph/import/onnx/ops/image/unfold.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/image.inc"
#include "graph/import/onnx/ops/matrix.inc"
#undef MILLRACE_ONNX_OP

namespace {

using Reduction = Tensor (*)(Tensor, std::vector<std::int64_t>, bool);

struct Pool {
  Tensor x;
  OnnxWindow window;
  bool ceil_mode = false;
  bool count_include_pad = false;  // of AveragePool

  std::size_t num_dims() const { return window.kernel.size(); }
  OnnxAxisWindow axis(std::size_t d) const {
    OnnxAxisWindow axis = axis_window(window, x.shape(), d);
    axis.rounds_up = ceil_mode;
    return axis;
  }
};

Result<Pool> read_pool(OnnxNodeContext& node) {
  Pool pool;
  MILLRACE_TRY_ASSIGN(pool.x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(pool.window, read_window(node, pool.x.shape()));
  MILLRACE_TRY_ASSIGN(pool.ceil_mode, node.flag_attribute("ceil_mode", false));
  for (std::size_t d = 0; d < pool.num_dims(); ++d) {
    const OnnxAxisWindow axis = pool.axis(d);
    if (axis.low < 0 || axis.high < 0) {
      return node.attribute_error("pads", "found a number below 0, expected 0 or more; slice the operand first");
    }
    const SizeExpr room = axis.extent + axis.low + axis.high - axis.reach();
    if (room.upper_bound() < 0) {
      return node.operand_error(
          0, fmt::format("is {}, too small in dim {} for windows of {}", pool.x.type().to_text(), d + 2, axis.reach()));
    }
  }
  return pool;
}

/// Whether max_pool2d and avg_pool2d can compute the pool, perhaps after a dim of extent 1 is added.
bool is_plain(const Pool& pool) {
  if (pool.num_dims() > 2) return false;
  for (std::size_t d = 0; d < pool.num_dims(); ++d) {
    const OnnxAxisWindow axis = pool.axis(d);
    if (axis.dilation != 1 || axis.low >= axis.kernel || axis.high >= axis.kernel) return false;
  }
  return true;
}

Tensor plain_pool(const Pool& pool, Tensor (*function)(Tensor, Pool2dAttrs)) {
  const bool is_row = pool.num_dims() == 1;
  const OnnxWindow window = is_row ? with_row(pool.window) : pool.window;
  const Tensor result = function(is_row ? unsqueeze(pool.x, {2}) : pool.x,
                                 {.window = window.kernel,
                                  .strides = window.strides,
                                  .padding = {window.low[0], window.low[1], window.high[0], window.high[1]},
                                  .count_include_pad = pool.count_include_pad,
                                  .ceil_mode = pool.ceil_mode});
  return is_row && result.is_valid() ? squeeze(result, {2}) : result;
}

/// Reduces the windows, one axis at a time.
Tensor reduce_windows(const Pool& pool, Tensor x, Number fill, Reduction reduce) {
  for (std::size_t d = 0; d < pool.num_dims() && x.is_valid(); ++d) {
    const auto axis = static_cast<std::int64_t>(d) + 2;
    x = reduce(unfold(x, axis, pool.axis(d), fill), {axis + 1}, false);
  }
  return x;
}

/// The lowest element of the dtype: as padding, it never exceeds an element of the window.
Number lowest(DType dtype) {
  return visit_dtype(dtype, []<class T>() -> Number {
    if constexpr (std::integral<T>) return std::numeric_limits<T>::lowest();
    return -std::numeric_limits<double>::infinity();
  });
}

/// Shape [count, 1, ...]: how many points of each window along dim 2 + d count in the mean.
Tensor count_points(const Pool& pool, std::size_t d, DType dtype) {
  const OnnxAxisWindow axis = pool.axis(d);
  GraphBuilder& graph = *pool.x.builder();
  const std::int64_t low = pool.count_include_pad ? axis.low : 0, high = pool.count_include_pad ? axis.high : 0;
  const Tensor place = window_positions(graph, axis);
  const Tensor counts = logical_and(greater_equal(place, -low), less(place, size_of(graph, axis.extent + high)));
  std::vector<SizeExpr> dims(pool.num_dims() - d, SizeExpr(1));
  dims[0] = axis.count();
  return reshape(reduce_sum(cast(counts, dtype), {1}), Shape(std::move(dims)));
}

DType wide(DType dtype) { return dtype == DType::kF64 ? dtype : DType::kF32; }

}  // namespace

Result<OnnxResults> import_average_pool(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(Pool pool, read_pool(node));
  if (node.version() >= 7) {
    MILLRACE_TRY_ASSIGN(pool.count_include_pad, node.flag_attribute("count_include_pad", false));
  }
  if (is_plain(pool)) return plain_pool(pool, avg_pool2d);
  const DType dtype = pool.x.dtype();
  if (!is_float(dtype)) return node.operand_error(0, fmt::format("is {}, expected floats", pool.x.type().to_text()));
  Tensor mean = reduce_windows(pool, cast(pool.x, wide(dtype)), 0, reduce_sum);
  MILLRACE_TRY_ASSIGN(mean, node.built(mean));
  Tensor count;
  for (std::size_t d = 0; d < pool.num_dims(); ++d) {
    const Tensor points = count_points(pool, d, wide(dtype));
    count = d == 0 ? points : count * points;
  }
  return cast(mean / count, dtype);
}

namespace {

/// The windows of one axis. A point outside x is replaced by the nearest point of its window inside x, so that the
/// first maximum is always a point of x.
struct ClampedWindow {
  GraphBuilder& graph;
  OnnxAxisWindow axis;

  /// The position of point `k` of window `i`. Both are i64 and broadcast to each other.
  Tensor position(Tensor i, Tensor k) const {
    const std::int64_t dilation = axis.dilation;
    const Tensor start = i * axis.stride - axis.low, last = size_of(graph, axis.extent - 1);
    const Tensor first_inside = max((dilation - 1 - start) / dilation, 0);
    const Tensor last_inside = min((last - start) / dilation, axis.kernel - 1);
    const Tensor place = start + max(min(k, last_inside), first_inside) * dilation;
    return max(min(place, last), 0);
  }
  Tensor positions() const {
    return position(iota(graph, DType::kI64, {axis.count(), 1}, 0), iota(graph, DType::kI64, {1, axis.kernel}, 1));
  }
};

/// [n, c, windows..., points]: all points of each window in row-major order.
Tensor all_windows(const Pool& pool) {
  const std::size_t count = pool.num_dims();
  Tensor x = pool.x;
  std::vector<std::int64_t> permutation = {0, 1};
  std::vector<SizeExpr> dims = {x.shape()[0], x.shape()[1]};
  std::int64_t points = 1;
  for (std::size_t d = 0; d < count; ++d) {
    const OnnxAxisWindow axis = pool.axis(d);
    x = gather(x, ClampedWindow{*pool.x.builder(), axis}.positions(), static_cast<std::int64_t>(2 + 2 * d));
    permutation.push_back(static_cast<std::int64_t>(2 + 2 * d));
    dims.push_back(axis.count());
    points = saturating::multiply(points, axis.kernel);
  }
  for (std::size_t d = 0; d < count; ++d) permutation.push_back(static_cast<std::int64_t>(3 + 2 * d));
  dims.emplace_back(points);
  return reshape(transpose(x, std::move(permutation)), Shape(std::move(dims)));
}

/// The index in the whole operand of each window's first maximum. `chosen` is its number among the window's points.
Tensor indices_of(const Pool& pool, Tensor chosen, bool is_column_major) {
  GraphBuilder& graph = *pool.x.builder();
  const Shape &from = pool.x.shape(), shape = chosen.shape();
  const std::size_t count = pool.num_dims();
  std::vector<Tensor> place(count);
  for (std::size_t d = count; d-- > 0;) {
    const OnnxAxisWindow axis = pool.axis(d);
    const Tensor point = rem(chosen, axis.kernel);
    chosen = chosen / axis.kernel;
    place[d] =
        ClampedWindow{graph, axis}.position(iota(graph, DType::kI64, shape, static_cast<std::int64_t>(2 + d)), point);
  }
  const Tensor channels = iota(graph, DType::kI64, shape, 0) * size_of(graph, from[1]);
  const Tensor image = channels + iota(graph, DType::kI64, shape, 1);
  Tensor index = image;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t d = is_column_major ? count - 1 - i : i;
    index = index * size_of(graph, from[2 + d]) + place[d];
  }
  return index;
}

}  // namespace

Result<OnnxResults> import_max_pool(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Pool pool, read_pool(node));
  MILLRACE_TRY_ASSIGN(const bool is_column_major, node.flag_attribute("storage_order", false));
  if (!node.wants(1)) {
    if (is_plain(pool)) return plain_pool(pool, max_pool2d);
    return reduce_windows(pool, pool.x, lowest(pool.x.dtype()), reduce_max);
  }
  constexpr std::size_t kMaxDims = (kMaxRank - 2) / 2;
  if (pool.num_dims() > kMaxDims) {
    return node.operand_error(
        0, fmt::format("has rank {}, expected at most {} with indices", pool.x.shape().rank(), kMaxDims + 2));
  }
  MILLRACE_TRY_ASSIGN(const Tensor windows, node.built(all_windows(pool)));
  MILLRACE_TRY_ASSIGN(const Tensor chosen, node.built(argmax(windows, -1)));
  return OnnxResults{reduce_max(windows, {-1}), indices_of(pool, chosen, is_column_major)};
}

namespace {

/// The attribute p, a float before version 2.
Result<double> read_power(OnnxNodeContext& node) {
  double p = 2;
  if (node.version() < 2) {
    MILLRACE_TRY_ASSIGN(p, node.number_attribute("p", p));
  } else {
    MILLRACE_TRY_ASSIGN(const std::int64_t whole, node.integer_attribute("p", 2));
    p = static_cast<double>(whole);
  }
  if (!(p >= 1) || std::isinf(p)) return node.attribute_error("p", fmt::format("found {}, expected 1 or more", p));
  return p;
}

Tensor raise(Tensor x, double p) {
  if (p == 1) return abs(x);
  return p == 2 ? x * x : pow(abs(x), p);
}
Tensor root(Tensor x, double p) {
  if (p == 1) return x;
  return p == 2 ? sqrt(x) : pow(x, 1 / p);
}

}  // namespace

Result<OnnxResults> import_lp_pool(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Pool pool, read_pool(node));
  MILLRACE_TRY_ASSIGN(const double p, read_power(node));
  const DType dtype = pool.x.dtype();
  const Tensor powers = raise(cast(pool.x, wide(dtype)), p);
  MILLRACE_TRY_ASSIGN(const Tensor sums, node.built(reduce_windows(pool, powers, 0, reduce_sum)));
  return cast(root(sums, p), dtype);
}

Result<OnnxResults> import_global_lp_pool(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const double p, read_power(node));
  std::vector<std::int64_t> axes;
  for (std::size_t d = 2; d < x.shape().rank(); ++d) axes.push_back(static_cast<std::int64_t>(d));
  if (axes.empty()) {
    return node.operand_error(0, fmt::format("is {}, expected dims after n and c", x.type().to_text()));
  }
  const Tensor sums = reduce_sum(raise(cast(x, wide(x.dtype())), p), std::move(axes), true);
  return cast(root(sums, p), x.dtype());
}

/// Scatters the values to their indices, in a result of the size that the windows determine. If operand 2 asks for a
/// larger result, zeros are added at the ends.
Result<OnnxResults> import_max_unpool(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Tensor indices, node.tensor(1));
  MILLRACE_TRY_ASSIGN(const OnnxWindow window, read_window(node, x.shape()));
  if (indices.shape() != x.shape() || indices.dtype() != DType::kI64) {
    return node.operand_error(
        1, fmt::format("is {}, expected i64 of the shape of {}", indices.type().to_text(), x.type().to_text()));
  }
  Shape shape = x.shape();
  for (std::size_t d = 0; d < window.kernel.size(); ++d) {
    shape[d + 2] = (x.shape()[d + 2] - 1) * window.strides[d] + window.kernel[d] - window.low[d] - window.high[d];
  }
  const SizeExpr total = shape.num_elements(), count = x.shape().num_elements();
  const Tensor zeros = node.graph().fill(x.dtype(), {total}, 0);
  const Tensor placed = reshape(scatter(zeros, reshape(indices, {count}), reshape(x, {count}), 0), shape);
  if (!node.has(2)) return placed;
  MILLRACE_TRY_ASSIGN(const OnnxSizes wanted, node.sizes(2));
  if (wanted.values.size() != shape.rank()) {
    return node.operand_error(2, fmt::format("has {} sizes, expected {}", wanted.values.size(), shape.rank()));
  }
  MILLRACE_TRY_ASSIGN(const Tensor whole, node.built(placed));
  std::vector<SizeExpr> low(shape.rank()), high;
  for (std::size_t d = 0; d < shape.rank(); ++d) high.push_back(wanted.values[d] - shape[d]);
  return pad_or_cut(whole, low, high);
}

}  // namespace millrace
