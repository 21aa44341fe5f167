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

Tensor resize_linear(Tensor x, std::int64_t axis, const ResizedAxis& resized, ResizeCoordinates coordinates) {
  Tensor at = resized.inside(resized.coordinates(coordinates));
  Tensor low = floor(at);
  Tensor below = gather_at(x, low, axis);
  Tensor above = gather_at(x, resized.inside(low + 1.0), axis);
  if (!below.is_valid()) return {};
  Tensor share = broadcast(cast(at - low, x.dtype()), below.shape(), {axis});
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
