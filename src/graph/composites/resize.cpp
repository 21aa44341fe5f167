// SPDX-License-Identifier: Apache-2.0
// Resizes axis by axis: a short vector holds each result point's position in the operand, and gathers read through it.
#include "graph/composites/composite.h"

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

/// Each result point's neighbours in the operand: `below`, and the one after it, of which it takes this share.
struct Neighbours {
  Tensor below;  // i64
  Tensor share;  // f64, from 0 to below 1
};

/// A position is a fraction of integers. What an f64 of it holds behind the point is less the larger it is, so the
/// share comes from the remainder of the division. Integers wrap in between, but the remainder is small.
Neighbours neighbours_of(const ResizedAxis& resized, ResizeCoordinates mode) {
  GraphBuilder& graph = resized.graph;
  const bool is_half_pixel = mode == ResizeCoordinates::kHalfPixel;
  const bool has_corners = mode == ResizeCoordinates::kAlignCorners;
  const auto whole = [&](const SizeExpr& size) { return broadcast_to(size_of(graph, size), {resized.to}); };
  const SizeExpr scaled = has_corners ? resized.from - 1 : resized.from;
  const SizeExpr divisor = has_corners ? max(resized.to - 1, 1) : resized.to;
  // The same as in coordinates(): (2 i + 1) * from / (2 to) - 1 / 2, or i * scaled / divisor.
  Tensor i = iota(graph, DType::kI64, {resized.to}, 0);
  Tensor dividend = is_half_pixel ? (i * 2 + 1) * whole(scaled) - whole(divisor) : i * whole(scaled);
  Tensor by = is_half_pixel ? whole(divisor) * 2 : whole(divisor);
  // Rounded, so one too low or too high where the position is next to an integer.
  Tensor below = cast(floor(resized.coordinates(mode)), DType::kI64);
  Tensor rest = dividend - below * by;
  const auto all = [&](std::int64_t value) { return graph.fill(DType::kI64, {resized.to}, value); };
  Tensor is_high = less(rest, all(0)), is_low = greater_equal(rest, by);
  below = below - cast(is_high, DType::kI64) + cast(is_low, DType::kI64);
  rest = select(is_high, rest + by, select(is_low, rest - by, rest));
  Tensor share = cast(rest, DType::kF64) / cast(by, DType::kF64);
  // Outside, and at the last point, the nearest one alone.
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
  // At an exact point take only that neighbour: 0 times the other's inf or NaN would be NaN.
  const auto all = [&](double value) { return resized.graph.fill(share.dtype(), share.shape(), value); };
  Tensor is_above = equal(share, all(1));
  Tensor not_below = select(is_above, above, between);
  Tensor is_below = equal(share, all(0));
  return select(is_below, below, not_below);
}

}  // namespace

Tensor resize(Tensor x, std::vector<std::int64_t> axes, std::vector<SizeExpr> sizes, ResizeMode mode,
              ResizeCoordinates coordinates) try {
  if (!x.is_valid()) return {};
  GraphBuilder& graph = *x.builder();
  const auto rank = static_cast<std::int64_t>(x.shape().rank());
  if (axes.size() != sizes.size()) {
    return refuse(
        graph, "resize",
        fmt::format("{} axes and {} sizes, expected as many; give one size for each", axes.size(), sizes.size()));
  }
  if (mode == ResizeMode::kLinear && !is_float(x.dtype())) {
    return refuse(graph, "resize", fmt::format("operand is {}, expected a float; insert a cast", x.type().to_text()));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank) {
      return refuse(graph, "resize",
                    fmt::format("axes[{}] is {}, expected {} to {} for operand 0, {}; choose one of its axes", i,
                                axes[i], -rank, rank - 1, x.type().to_text()));
    }
    const ResizedAxis resized{graph, x.shape()[static_cast<std::size_t>(axis)], sizes[i]};
    if (resized.from == resized.to) continue;
    x = mode == ResizeMode::kLinear ? resize_linear(x, axis, resized, coordinates)
                                    : resize_nearest(x, axis, resized, coordinates);
    if (!x.is_valid()) return {};
  }
  return x;
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), "resize");
}

}  // namespace millrace
