// SPDX-License-Identifier: Apache-2.0
// Resizes axis by axis: a short vector holds each result point's position in the operand, and gathers read through it.
// The mode nearest, by a whole factor, repeats points instead.
#include "graph/composites/composite.h"
#include "graph/composites/repeat.h"
#include "ops/infer.h"

namespace millrace {
namespace {

/// One axis of a resize. Positions are f64, exact for any extent that fits in memory.
struct ResizedAxis {
  GraphBuilder& graph;
  SizeExpr from;
  SizeExpr to;

  Tensor number(const SizeExpr& size) const { return broadcast_to(cast(size_of(graph, size), DType::kF64), {to}); }
  Tensor last() const { return number(from - 1); }

  Tensor coordinates(ResizeCoordinates mode) const {
    Tensor i = iota(graph, DType::kF64, {to}, 0);
    if (mode == ResizeCoordinates::kHalfPixel) i = i + 0.5;
    const bool has_corners = mode == ResizeCoordinates::kAlignCorners;
    Tensor scaled = i * (has_corners ? last() : number(from));
    Tensor at = scaled / number(has_corners ? max(to - 1, 1) : to);
    return mode == ResizeCoordinates::kHalfPixel ? at - 0.5 : at;
  }

  /// Clamps to the operand's positions.
  Tensor inside(Tensor position) const {
    Tensor lowered = min(position, last());
    return max(lowered, graph.fill(DType::kF64, {to}, 0));
  }
};

Tensor gather_at(Tensor x, Tensor position, std::int64_t axis) { return gather(x, cast(position, DType::kI64), axis); }

Tensor resize_nearest(Tensor x, std::int64_t axis, const ResizedAxis& resized, ResizeCoordinates coordinates) {
  Tensor at = resized.coordinates(coordinates);
  Tensor nearest = coordinates == ResizeCoordinates::kAsymmetric ? floor(at) : ceil(at - 0.5);
  return gather_at(x, resized.inside(nearest), axis);
}

/// For each result point, the operand point `below` it, and the share of the next operand point in the result.
struct Neighbours {
  Tensor below;  // i64
  Tensor share;  // f64, from 0 to below 1
};

/// Computes the share from the remainder of an integer division, because a share computed from an f64 position would
/// lose digits as the position grows. Intermediate integers may wrap, but the remainder is small and therefore right.
Neighbours neighbours_of(const ResizedAxis& resized, ResizeCoordinates mode) {
  GraphBuilder& graph = resized.graph;
  const bool is_half_pixel = mode == ResizeCoordinates::kHalfPixel;
  const bool has_corners = mode == ResizeCoordinates::kAlignCorners;
  const auto whole = [&](const SizeExpr& size) { return broadcast_to(size_of(graph, size), {resized.to}); };
  const SizeExpr scaled = has_corners ? resized.from - 1 : resized.from;
  const SizeExpr divisor = has_corners ? max(resized.to - 1, 1) : resized.to;
  // The same formulas as in coordinates(): (2 i + 1) * from / (2 to) - 1 / 2, or i * scaled / divisor.
  Tensor i = iota(graph, DType::kI64, {resized.to}, 0);
  Tensor dividend = is_half_pixel ? (i * 2 + 1) * whole(scaled) - whole(divisor) : i * whole(scaled);
  Tensor by = is_half_pixel ? whole(divisor) * 2 : whole(divisor);
  // The position is rounded, so if it is close to an integer, `below` may be too low or too high by 1.
  Tensor below = cast(floor(resized.coordinates(mode)), DType::kI64);
  Tensor rest = dividend - below * by;
  const auto all = [&](std::int64_t value) { return graph.fill(DType::kI64, {resized.to}, value); };
  Tensor is_high = less(rest, all(0)), is_low = greater_equal(rest, by);
  below = below - cast(is_high, DType::kI64) + cast(is_low, DType::kI64);
  rest = select(is_high, rest + by, select(is_low, rest - by, rest));
  Tensor share = cast(rest, DType::kF64) / cast(by, DType::kF64);
  // For positions outside the operand, and at its last point, only the nearest point counts.
  Tensor last = whole(resized.from - 1), is_inside = logical_and(greater_equal(below, all(0)), less(below, last));
  return {max(min(below, last), all(0)), select(is_inside, share, graph.fill(DType::kF64, {resized.to}, 0))};
}

Tensor resize_linear(Tensor x, std::int64_t axis, const ResizedAxis& resized, ResizeCoordinates coordinates) {
  const Neighbours at = neighbours_of(resized, coordinates);
  Tensor last = broadcast_to(size_of(resized.graph, resized.from - 1), {resized.to});
  Tensor below = gather(x, at.below, axis);
  Tensor above = gather(x, min(at.below + 1, last), axis);
  if (!below.is_valid()) return {};
  Tensor share = broadcast(cast(at.share, x.dtype()), below.shape(), {axis});
  Tensor low_part = below * (1.0 - share);
  Tensor between = low_part + above * share;
  // If a result point lies on an operand point, take only that point: 0 times an inf or NaN of the other would be NaN.
  const auto all = [&](double value) { return resized.graph.fill(share.dtype(), share.shape(), value); };
  Tensor is_above = equal(share, all(1));
  Tensor not_below = select(is_above, above, between);
  Tensor is_below = equal(share, all(0));
  return select(is_below, below, not_below);
}

Status check_resize(const TensorType& x, std::span<const std::int64_t> axes, std::span<const SizeExpr> sizes,
                    ResizeMode mode) {
  if (axes.size() != sizes.size()) {
    return invalid_argument(
        fmt::format("{} axes and {} sizes, expected equal numbers; give one size per axis", axes.size(), sizes.size()));
  }
  if (mode == ResizeMode::kLinear && !is_float(x.dtype)) {
    return invalid_argument(fmt::format("operand is {}, expected a float; insert a cast", x.to_text()));
  }
  MILLRACE_TRY_ASSIGN(const std::vector<std::size_t> dims, ops::resolve_axes(axes, std::span(&x, 1), 0, "axes"));
  TensorType result = x;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (sizes[i].upper_bound() < 0) {
      return invalid_argument(fmt::format("sizes[{}] is {}, expected 0 or more; correct it", i, sizes[i].to_text()));
    }
    result.shape[dims[i]] = sizes[i];
  }
  return expect_within_limits(result);
}

/// The axes along which the mode nearest takes each point a whole number of times: the positions (i + 1/2) / n - 1/2
/// and i / n both round to the quotient of i / n.
std::vector<RepeatedDim> find_repeated(const TensorType& type, std::span<const std::int64_t> axes,
                                       std::span<const SizeExpr> sizes, ResizeMode mode,
                                       ResizeCoordinates coordinates) {
  std::vector<RepeatedDim> found;
  if (mode != ResizeMode::kNearest || coordinates == ResizeCoordinates::kAlignCorners) return found;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto rank = static_cast<std::int64_t>(type.shape.rank());
    const auto dim = static_cast<std::size_t>(axes[i] < 0 ? axes[i] + rank : axes[i]);
    const std::int64_t times = whole_factor(type.shape[dim], sizes[i]);
    if (times != 0) found.push_back({dim, times});
  }
  std::ranges::sort(found, {}, &RepeatedDim::dim);
  return found;
}

}  // namespace

Tensor resize(Tensor x, std::vector<std::int64_t> axes, std::vector<SizeExpr> sizes, ResizeMode mode,
              ResizeCoordinates coordinates) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(check_resize(x.type(), axes, sizes, mode))) return {};
    const TensorType type = x.type();
    x = repeat_points(x, find_repeated(type, axes, sizes, mode, coordinates));
    for (std::size_t i = 0; i < axes.size() && x.is_valid(); ++i) {
      const std::int64_t axis = axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(type.shape.rank()) : axes[i];
      const ResizedAxis resized{*x.builder(), x.shape()[static_cast<std::size_t>(axis)], sizes[i]};
      if (resized.from == resized.to) continue;
      composite.explain_wrong_index(
          fmt::format("axis {} of operand 0, {}, is empty, expected at least one point to resize to {}; "
                      "leave the axis out",
                      axes[i], type.to_text(), sizes[i].to_text()));
      x = mode == ResizeMode::kLinear ? resize_linear(x, axis, resized, coordinates)
                                      : resize_nearest(x, axis, resized, coordinates);
    }
    return x;
  });
}

}  // namespace millrace
