// SPDX-License-Identifier: Apache-2.0
// Imports GridSample, which reads an image at the points of a grid, and AffineGrid, which makes such grids.
#include <fmt/format.h>

#include "graph/import/onnx/ops/image/sample.h"
#include "graph/import/onnx/ops/shape_helpers.h"
#include "millrace/base/printable.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/image.inc"
#undef MILLRACE_ONNX_OP

namespace {

enum class GridMode { kNearest, kLinear, kCubic };
enum class GridBorder { kZeros, kNearest, kReflected };

/// One axis of the operand, and where its border is.
struct GridAxis {
  GraphBuilder& graph;
  SizeExpr extent;
  DType dtype;  // of positions
  GridMode mode;
  GridBorder border;
  bool align_corners;

  Tensor number(const SizeExpr& size) const { return cast(size_of(graph, size), dtype); }
  Tensor last() const { return number(extent - 1); }
  Tensor lowest() const { return graph.fill(dtype, {}, align_corners ? 0 : -0.5); }
  Tensor highest() const { return align_corners ? last() : last() + 0.5; }

  /// -1 and 1 stand for the border or, with align_corners, for the outermost points.
  Tensor position(Tensor normalized) const {
    if (align_corners) return (normalized + 1.0) / 2.0 * last();
    return ((normalized + 1.0) * number(extent) - 1.0) / 2.0;
  }

  /// Mirrors at the border until the position is inside.
  Tensor reflect(Tensor position) const {
    const Tensor low = lowest(), high = highest(), range = high - low;
    const Tensor is_low = less(position, low);
    const Tensor distance = where(is_low, low - position, position - high);
    const Tensor times = floor(distance / range), rest = distance - times * range;
    const Tensor is_even = equal(times - 2.0 * floor(times / 2.0), 0);
    const Tensor from_low = low + rest, from_high = high - rest;
    const Tensor mirrored = where(is_low, where(is_even, from_low, from_high), where(is_even, from_high, from_low));
    return where(logical_or(is_low, greater(position, high)), mirrored, position);
  }

  Tensor move_inside(Tensor position) const {
    if (border == GridBorder::kZeros) return position;
    if (border == GridBorder::kReflected) return reflect(position);
    const Tensor is_outside = logical_or(less(position, lowest()), greater(position, highest()));
    return where(is_outside, max(min(position, last()), 0), position);
  }

  /// The element at an integral position, which may be outside the operand.
  OnnxTap tap(Tensor place, Tensor weight) const {
    if (border == GridBorder::kZeros) {
      const Tensor is_inside = logical_and(greater_equal(place, 0), less_equal(place, last()));
      weight = where(is_inside, weight, 0);
    } else if (border == GridBorder::kReflected) {
      place = trunc(reflect(place));
    }
    return {cast(max(min(place, last()), 0), DType::kI64), weight};
  }

  std::vector<OnnxTap> taps(Tensor normalized) const {
    const Tensor given = position(normalized);
    const Tensor at = move_inside(mode == GridMode::kNearest ? round(given) : given);
    if (mode == GridMode::kNearest) return {tap(trunc(at), graph.fill(dtype, at.shape(), 1))};
    const Tensor below = floor(at), share = at - below;
    if (mode == GridMode::kLinear) return {tap(below, 1.0 - share), tap(below + 1.0, share)};
    std::vector<OnnxTap> taps;
    for (std::int64_t i = -1; i <= 2; ++i) {
      const auto offset = static_cast<double>(i);
      taps.push_back(tap(below + offset, cubic_weight(abs(offset - share), i == 0 || i == 1)));
    }
    return taps;
  }

  /// Source: Keys, "Cubic Convolution Interpolation for Digital Image Processing", 1981, with a = -0.75.
  static Tensor cubic_weight(Tensor distance, bool is_near) {
    constexpr double kA = -0.75;
    if (is_near) return ((kA + 2) * distance - (kA + 3)) * distance * distance + 1.0;
    return ((kA * distance - 5 * kA) * distance + 8 * kA) * distance - 4 * kA;
  }
};

Result<GridMode> read_mode(OnnxNodeContext& node) {
  const bool is_old = node.version() < 20;
  MILLRACE_TRY_ASSIGN(const std::string_view mode, node.text_attribute("mode", is_old ? "bilinear" : "linear"));
  if (mode == "nearest") return GridMode::kNearest;
  if (mode == (is_old ? "bilinear" : "linear")) return GridMode::kLinear;
  if (mode == (is_old ? "bicubic" : "cubic")) return GridMode::kCubic;
  return node.attribute_error("mode", fmt::format("found '{}', expected nearest, {}", printable(mode),
                                                  is_old ? "bilinear or bicubic" : "linear or cubic"));
}

Result<GridBorder> read_border(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const std::string_view mode, node.text_attribute("padding_mode", "zeros"));
  if (mode == "zeros") return GridBorder::kZeros;
  if (mode == "border") return GridBorder::kNearest;
  if (mode == "reflection") return GridBorder::kReflected;
  return node.attribute_error("padding_mode",
                              fmt::format("found '{}', expected zeros, border or reflection", printable(mode)));
}

}  // namespace

/// The last dim of the grid lists coordinates from the last axis of the image to the first.
Result<OnnxResults> import_grid_sample(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(Tensor grid, node.tensor(1));
  MILLRACE_TRY_ASSIGN(const GridMode mode, read_mode(node));
  MILLRACE_TRY_ASSIGN(const GridBorder border, read_border(node));
  MILLRACE_TRY_ASSIGN(const bool align_corners, node.flag_attribute("align_corners", false));
  const std::size_t rank = x.shape().rank(), num_dims = rank - 2;
  constexpr std::size_t kMaxDims = 3;
  if (rank < 3 || num_dims > kMaxDims || grid.shape().rank() != rank) {
    return unimplemented(fmt::format(": found {} and a grid {}, expected equal ranks from 3 to {}", x.type().to_text(),
                                     grid.type().to_text(), kMaxDims + 2));
  }
  MILLRACE_TRY(node.match_dim(grid, rank - 1, static_cast<std::int64_t>(num_dims)));
  if (!grid.shape()[rank - 1].is(static_cast<std::int64_t>(num_dims)) || !is_float(grid.dtype())) {
    return node.operand_error(
        1, fmt::format("is {}, expected floats with {} in the last dim", grid.type().to_text(), num_dims));
  }
  MILLRACE_TRY(node.match_dim(grid, 0, x.shape()[0]));
  const bool is_exact = mode == GridMode::kNearest;
  if (!is_float(x.dtype()) && !is_exact) {
    return node.operand_error(0, fmt::format("is {}, expected floats unless the mode is nearest", x.type().to_text()));
  }
  const DType dtype = grid.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor places = reshape(cast(grid, dtype), {grid.shape()[0], -1, static_cast<std::int64_t>(num_dims)});
  MILLRACE_TRY_ASSIGN(const Tensor flat, node.built(places));
  std::vector<std::vector<OnnxTap>> taps;
  for (std::size_t d = 0; d < num_dims; ++d) {
    const auto at = static_cast<std::int64_t>(num_dims - 1 - d);
    const Shape& all = flat.shape();
    const Tensor normalized = squeeze(slice(flat, {0, 0, at}, {all[0], all[1], at + 1}), {2});
    const GridAxis axis{node.graph(), x.shape()[d + 2], dtype, mode, border, align_corners};
    taps.push_back(axis.taps(normalized));
  }
  const DType sum_dtype = is_exact || x.dtype() == DType::kF64 ? x.dtype() : DType::kF32;
  Shape result = grid.shape();
  for (std::size_t d = rank - 1; d > 1; --d) result[d] = grid.shape()[d - 1];
  result[1] = x.shape()[1];
  return reshape(cast(sample(cast(x, sum_dtype), taps), x.dtype()), result);
}

/// grid[n, ..., axes] = theta * (coordinates from -1 to 1, 1), the last axis first.
Result<OnnxResults> import_affine_grid(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor given, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const Shape size, shape_of_sizes(node, 1));
  MILLRACE_TRY_ASSIGN(const bool align_corners, node.flag_attribute("align_corners", false));
  const auto num_dims = static_cast<std::int64_t>(size.rank()) - 2;
  const Shape& from = given.shape();
  if ((num_dims != 2 && num_dims != 3) || from.rank() != 3 || !from[1].is(num_dims) || !from[2].is(num_dims + 1)) {
    return invalid_argument(fmt::format(": found theta {} and {} sizes, expected n x 2 x 3 and 4, or n x 3 x 4 and 5",
                                        given.type().to_text(), size.rank()));
  }
  const DType dtype = given.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor theta = cast(given, dtype);
  GraphBuilder& graph = node.graph();
  const auto column = [&](std::int64_t i) {
    std::vector<SizeExpr> dims(static_cast<std::size_t>(num_dims) + 2, SizeExpr(1));
    dims.front() = from[0];
    dims.back() = num_dims;
    return reshape(slice(theta, {0, 0, i}, {from[0], num_dims, i + 1}), Shape(std::move(dims)));
  };
  Tensor grid = column(num_dims);
  for (std::int64_t d = 0; d < num_dims; ++d) {
    const SizeExpr extent = size[static_cast<std::size_t>(d) + 2];
    const Tensor i = iota(graph, dtype, {extent}, 0);
    const auto number = [&](const SizeExpr& n) { return cast(size_of(graph, n), dtype); };
    const Tensor coordinate =
        align_corners ? i * 2.0 / number(max(extent - 1, 1)) - 1.0 : (i * 2.0 + 1.0) / number(extent) - 1.0;
    std::vector<SizeExpr> dims(static_cast<std::size_t>(num_dims - d) + 1, SizeExpr(1));
    dims[0] = extent;
    grid = grid + column(num_dims - 1 - d) * reshape(coordinate, Shape(std::move(dims)));
  }
  return cast(grid, given.dtype());
}

}  // namespace millrace
