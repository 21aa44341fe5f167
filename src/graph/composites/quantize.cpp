// SPDX-License-Identifier: Apache-2.0
// Linear quantization and its inverse, with one scale per tensor or per index of an axis.
#include "graph/composites/composite.h"
#include "ops/infer.h"

namespace millrace {
namespace {

/// "scale is f32[7], expected a scalar or f32[8], one per index of axis -1 of operand 0, f32[4x8]; reshape it"
Status expect_per_axis(std::string_view what, const TensorType& parameter, const TensorType& x, std::int64_t axis) {
  if (parameter.shape.rank() == 0) return {};
  const TensorType types[] = {x};
  MILLRACE_TRY_ASSIGN(const std::size_t dim, ops::resolve_axis(axis, types, 0, "axis"));
  const bool fits = parameter.shape.rank() == 1 && (parameter.shape[0] == x.shape[dim] || parameter.shape[0].is(1));
  if (fits) return {};
  return invalid_argument(
      fmt::format("{} is {}, expected a scalar or {}, one per index of axis {} of operand 0, {}; "
                  "reshape it",
                  what, parameter.to_text(), TensorType{parameter.dtype, {x.shape[dim]}}.to_text(), axis, x.to_text()));
}

bool pass_per_axis(const Composite& composite, std::int64_t axis) {
  const std::span<const TensorType> types = composite.types();
  return composite.passes(expect_per_axis("scale", types[1], types[0], axis)) &&
         composite.passes(expect_per_axis("zero point", types[2], types[0], axis));
}

/// Broadcasts a scalar, or one value per index of the axis, to the shape of x.
Tensor per_axis(Tensor parameter, Tensor x, std::int64_t axis) {
  if (parameter.shape().rank() == 0) return broadcast_to(parameter, x.shape());
  const auto rank = static_cast<std::int64_t>(x.shape().rank());
  return broadcast(parameter, x.shape(), {axis < 0 ? axis + rank : axis});
}

}  // namespace

Tensor quantize_linear(Tensor x, Tensor scale, Tensor zero_point, std::int64_t axis) {
  return build_composite({x, scale, zero_point}, [&](Composite& composite) -> Tensor {
    if (!is_float(x.dtype()) || scale.dtype() != x.dtype() || !is_integer(zero_point.dtype())) {
      return composite.refuse(
          fmt::format("x is {}, scale {} and zero point {}, expected floats of one dtype and an integer; insert "
                      "a cast",
                      x.type().to_text(), scale.type().to_text(), zero_point.type().to_text()));
    }
    if (!pass_per_axis(composite, axis)) return {};
    const DType wide = wide_dtype(x.dtype());
    Tensor wide_x = cast(x, wide);
    Tensor steps = round(wide_x / per_axis(cast(scale, wide), x, axis));
    return cast(steps + per_axis(cast(zero_point, wide), x, axis), zero_point.dtype());
  });
}

Tensor dequantize_linear(Tensor x, Tensor scale, Tensor zero_point, std::int64_t axis) {
  return build_composite({x, scale, zero_point}, [&](Composite& composite) -> Tensor {
    if (!is_integer(x.dtype()) || zero_point.dtype() != x.dtype() || !is_float(scale.dtype())) {
      return composite.refuse(
          fmt::format("x is {}, scale {} and zero point {}, expected integers of one dtype and a float; insert "
                      "a cast",
                      x.type().to_text(), scale.type().to_text(), zero_point.type().to_text()));
    }
    if (!pass_per_axis(composite, axis)) return {};
    const DType wide = wide_dtype(scale.dtype());
    Tensor wide_x = cast(x, wide);
    Tensor steps = wide_x - per_axis(cast(zero_point, wide), x, axis);
    return cast(steps * per_axis(cast(scale, wide), x, axis), scale.dtype());
  });
}

}  // namespace millrace
