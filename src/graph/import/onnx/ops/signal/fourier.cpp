// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform as a product with a matrix of sines and cosines.
#include "graph/import/onnx/ops/signal/fourier.h"

#include <cmath>
#include <numbers>

#include "millrace/graph/composites.h"

namespace millrace {
namespace {

/// The matrix maps points [from] to points [to]: entry (i, j) belongs to the angle 2 pi i j / length.
struct FourierMatrix {
  GraphBuilder& graph;
  SizeExpr from, to, length;
  DType dtype;

  /// f64[from, to]: the angles as fractions of a turn. i * j is computed exactly, in integers.
  Tensor turns() const {
    const Tensor i = iota(graph, DType::kI64, {from, 1}, 0), j = iota(graph, DType::kI64, {1, to}, 1);
    const Tensor whole = size_of(graph, length);
    return cast(rem(i * j, whole), DType::kF64) / cast(whole, DType::kF64);
  }
  /// [from, to, 2]: the real and the imaginary part of each entry, which `is_imaginary` multiplies by the imaginary
  /// unit.
  Tensor pairs(bool is_imaginary, double sign) const {
    const Tensor angle = turns() * (2 * std::numbers::pi);
    const Tensor cosine = cos(angle), sine = sin(angle) * sign;
    const Tensor pair = is_imaginary ? stack({neg(sine), cosine}, 2) : stack({cosine, sine}, 2);
    return cast(pair, dtype);
  }
};

/// Cuts the axis to the length, or pads it with zeros at the end.
Tensor fit(Tensor x, std::int64_t axis, const SizeExpr& length) {
  const Shape shape = x.shape();
  const SizeExpr& extent = shape[static_cast<std::size_t>(axis)];
  if (extent == length) return x;
  std::vector<SizeExpr> low(shape.rank()), high = low, stop = shape.dims();
  high[static_cast<std::size_t>(axis)] = max(length - extent, 0);
  stop[static_cast<std::size_t>(axis)] = length;
  return slice(pad(x, low, std::move(high)), low, std::move(stop));
}

/// The real or imaginary part of x, without the last dim.
Tensor part(Tensor x, std::int64_t i) {
  const Shape& shape = x.shape();
  const auto last = static_cast<std::int64_t>(shape.rank()) - 1;
  std::vector<SizeExpr> start(shape.rank()), stop = shape.dims();
  start.back() = i;
  stop.back() = i + 1;
  return squeeze(slice(x, std::move(start), std::move(stop)), {last});
}

/// Sums over the axis of x * matrix[axis, to, 2]. The dims that the matrix adds take the place of the axis and of the
/// last dim.
Tensor multiply(Tensor x, Tensor matrix, std::int64_t axis) {
  const Tensor product = dot(x, matrix, {.x_contract = {axis}, .y_contract = {0}});
  if (!product.is_valid()) return product;
  std::vector<std::int64_t> permutation;
  const auto rank = static_cast<std::int64_t>(product.shape().rank());
  for (std::int64_t d = 0; d < rank - 2; ++d) permutation.push_back(d);
  permutation.insert(permutation.begin() + axis, rank - 2);
  permutation.push_back(rank - 1);
  return transpose(product, std::move(permutation));
}

/// The real signal with the frequencies x. Each frequency counts twice, because x leaves out its conjugate, except the
/// first one and, for an even length, the middle one.
Tensor onesided_inverse(Tensor x, const FourierTransform& transform) {
  GraphBuilder& graph = *x.builder();
  const SizeExpr count = floor_div(transform.length, 2) + 1;
  const FourierMatrix matrix{graph, count, transform.length, transform.length, DType::kF64};
  const Tensor angle = matrix.turns() * (2 * std::numbers::pi);
  const Tensor k = iota(graph, DType::kI64, {count, 1}, 0);
  const Tensor is_single = logical_or(equal(k, 0), equal(k * 2, size_of(graph, transform.length)));
  const Tensor factor =
      where(is_single, 1, graph.fill(DType::kF64, {}, 2)) / cast(size_of(graph, transform.length), DType::kF64);
  const Tensor fitted = fit(x, transform.axis, count);
  const auto add = [&](std::int64_t i, Tensor weights) {
    return multiply(part(fitted, i), cast(unsqueeze(weights * factor, {2}), x.dtype()), transform.axis);
  };
  const Tensor real = add(0, cos(angle));
  return fitted.shape().dims().back().is(2) ? real + add(1, neg(sin(angle))) : real;
}

}  // namespace

Tensor fourier_transform(Tensor x, const FourierTransform& transform) {
  if (transform.is_inverse && transform.is_onesided) return onesided_inverse(x, transform);
  GraphBuilder& graph = *x.builder();
  const SizeExpr count = transform.is_onesided ? floor_div(transform.length, 2) + 1 : transform.length;
  const FourierMatrix matrix{graph, transform.length, count, transform.length, x.dtype()};
  const double sign = transform.is_inverse ? 1 : -1;
  const Tensor fitted = fit(x, transform.axis, transform.length);
  if (!fitted.is_valid()) return fitted;
  Tensor result = multiply(part(fitted, 0), matrix.pairs(false, sign), transform.axis);
  if (fitted.shape().dims().back().is(2)) {
    result = result + multiply(part(fitted, 1), matrix.pairs(true, sign), transform.axis);
  }
  if (!transform.is_inverse) return result;
  return result / cast(size_of(graph, transform.length), x.dtype());
}

}  // namespace millrace
