// SPDX-License-Identifier: Apache-2.0
// Resizes along one axis: f64 vectors hold the position and the weights of each result point; gathers read the operand.
#include "graph/import/onnx/ops/image/resize_axis.h"

#include "millrace/graph/composites.h"

namespace millrace {
namespace {

class AxisResizer {
 public:
  AxisResizer(GraphBuilder& graph, const OnnxResizedAxis& axis, const OnnxResizeStyle& style)
      : graph_(graph), axis_(axis), style_(style) {}

  Tensor resize(Tensor x) const {
    const Tensor at = position();
    const Tensor resized = style_.mode == OnnxResizeMode::kNearest
                               ? gather(x, cast(inside(nearest(at)), DType::kI64), axis_.axis)
                               : interpolate(x, at);
    if (style_.coordinates != OnnxCoordinates::kTfCropAndResize || !resized.is_valid()) return resized;
    const Tensor is_outside = logical_or(less(at, 0), greater(at, last()));
    const Tensor value = graph_.fill(resized.dtype(), {}, style_.extrapolation_value);
    return where(along(is_outside, resized), value, resized);
  }

 private:
  Tensor number(const SizeExpr& size) const { return cast(size_of(graph_, size), DType::kF64); }
  Tensor last() const { return number(axis_.from - 1); }
  Tensor inside(Tensor position) const { return max(min(position, last()), 0); }
  /// A vector with one element per result point, for broadcasting with x.
  Tensor along(Tensor vector, Tensor x) const {
    std::vector<SizeExpr> dims(x.shape().rank() - static_cast<std::size_t>(axis_.axis), SizeExpr(1));
    dims[0] = axis_.to;
    return reshape(vector, Shape(std::move(dims)));
  }

  /// Dividends are integers or halves, so that ties are exact.
  Tensor position() const {
    const Tensor i = iota(graph_, DType::kF64, {axis_.to}, 0);
    const Tensor up = number(axis_.denominator), down = number(axis_.numerator);
    const Tensor half_pixel = (i + 0.5) * up / down - 0.5;
    switch (style_.coordinates) {
      case OnnxCoordinates::kHalfPixel:
        return half_pixel;
      case OnnxCoordinates::kHalfPixelSymmetric:
        return half_pixel + (number(axis_.from) - number(axis_.to) * up / down) * 0.5;
      case OnnxCoordinates::kPytorchHalfPixel:
        return where(less_equal(number(axis_.to), graph_.fill(DType::kF64, {}, 1)), 0, half_pixel);
      case OnnxCoordinates::kAsymmetric:
        return i * up / down;
      case OnnxCoordinates::kTfHalfPixelForNn:
        return (i + 0.5) * up / down;
      case OnnxCoordinates::kAlignCorners:
        return where(is_one_point(), 0, between_corners(i, last()));
      case OnnxCoordinates::kTfCropAndResize:
        break;
    }
    const Tensor extent = (axis_.roi_end - axis_.roi_start) * last();
    return axis_.roi_start * last() + where(is_one_point(), extent * 0.5, between_corners(i, extent));
  }
  Tensor is_one_point() const { return equal(number(axis_.length_numerator), number(axis_.length_denominator)); }
  /// i * extent / (length - 1).
  Tensor between_corners(Tensor i, Tensor extent) const {
    const SizeExpr distance = axis_.length_numerator - axis_.length_denominator;
    return i * extent * number(axis_.length_denominator) / number(distance);
  }

  Tensor nearest(Tensor at) const {
    switch (style_.nearest) {
      case OnnxNearest::kRoundPreferFloor:
        return ceil(at - 0.5);
      case OnnxNearest::kRoundPreferCeil:
        return floor(at + 0.5);
      case OnnxNearest::kFloor:
        return floor(at);
      case OnnxNearest::kCeil:
        break;
    }
    return ceil(at);
  }

  /// The weight of an operand point, by its distance from the position. Source of the cubic one: Keys, "Cubic
  /// Convolution Interpolation for Digital Image Processing", 1981.
  Tensor weight(Tensor distance) const {
    const Tensor d = abs(distance);
    if (style_.mode == OnnxResizeMode::kLinear) return max(1.0 - d, 0);
    const double a = style_.cubic_coefficient;
    const Tensor near = ((a + 2) * d - (a + 3)) * d * d + 1.0;
    const Tensor far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    return where(less_equal(d, 1), near, where(less(d, 2), far, 0));
  }

  /// The operand points that contribute to each result point, [to, count].
  struct Taps {
    Tensor index;   // i64
    Tensor weight;  // f64
    SizeExpr count;
  };

  Taps taps(Tensor at) const {
    // With antialias, a smaller result has wider kernels.
    const std::int64_t reach = style_.mode == OnnxResizeMode::kLinear ? 1 : 2;
    const SizeExpr half =
        style_.antialias ? ceil_div(reach * max(axis_.numerator, axis_.denominator), axis_.numerator) : SizeExpr(reach);
    const Tensor below = floor(at);
    const Tensor offset = iota(graph_, DType::kF64, {1, 2 * half}, 1) - number(half - 1);
    Tensor distance = offset - unsqueeze(at - below, {1});
    if (style_.antialias) distance *= min(number(axis_.numerator) / number(axis_.denominator), 1);
    Tensor weights = weight(distance);
    const Tensor index = unsqueeze(below, {1}) + offset;
    if (style_.exclude_outside) {
      weights = where(logical_or(less(index, 0), greater(index, last())), 0, weights);
    }
    if (style_.antialias || style_.exclude_outside) weights /= reduce_sum(weights, {1}, true);
    return {cast(inside(index), DType::kI64), weights, 2 * half};
  }

  /// A point of weight 0 does not count, even if it is inf or NaN.
  static Tensor weigh(Tensor x, Tensor weight) { return where(equal(weight, 0), 0, x * weight); }

  Tensor interpolate(Tensor x, Tensor at) const {
    const Taps taps = this->taps(at);
    constexpr std::int64_t kMaxUnrolled = 4;
    if (!taps.count.is_constant() || taps.count.constant() > kMaxUnrolled) return add_up(x, taps);
    Tensor sum;
    for (std::int64_t t = 0; t < taps.count.constant(); ++t) {
      const auto tap = [&](Tensor all) { return squeeze(slice(all, {0, t}, {axis_.to, t + 1}), {1}); };
      const Tensor points = gather(x, tap(taps.index), axis_.axis);
      const Tensor part = weigh(points, along(cast(tap(taps.weight), x.dtype()), x));
      sum = t == 0 ? part : sum + part;
    }
    return sum;
  }

  /// The sum over any number of taps. The dims before and after the axis are joined, because the taps add a dim and
  /// ranks are limited.
  Tensor add_up(Tensor x, const Taps& taps) const {
    const Shape shape = x.shape();
    const std::vector<SizeExpr>& dims = shape.dims();
    const auto middle = dims.begin() + axis_.axis;
    const SizeExpr before = Shape(std::vector<SizeExpr>(dims.begin(), middle)).num_elements();
    const SizeExpr after = Shape(std::vector<SizeExpr>(middle + 1, dims.end())).num_elements();
    const Tensor points = gather(reshape(x, {before, axis_.from, after}), taps.index, 1);
    const Tensor weights = unsqueeze(cast(taps.weight, x.dtype()), {2});
    Shape result = shape;
    result[static_cast<std::size_t>(axis_.axis)] = axis_.to;
    return reshape(reduce_sum(weigh(points, weights), {2}), result);
  }

  GraphBuilder& graph_;
  const OnnxResizedAxis& axis_;
  const OnnxResizeStyle& style_;
};

}  // namespace

Tensor resize_axis(Tensor x, const OnnxResizedAxis& axis, const OnnxResizeStyle& style) {
  return AxisResizer(*x.builder(), axis, style).resize(x);
}

}  // namespace millrace
