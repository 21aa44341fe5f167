// SPDX-License-Identifier: Apache-2.0
#include "graph/composites/composite.h"

namespace millrace {
namespace {

/// Broadcasts a scalar, or one value per index of the axis, to the shape of x.
Tensor per_axis(Tensor parameter, Tensor x, std::int64_t axis) {
  if (parameter.shape().rank() == 0) return broadcast_to(parameter, x.shape());
  const auto rank = static_cast<std::int64_t>(x.shape().rank());
  return broadcast(parameter, x.shape(), {axis < 0 ? axis + rank : axis});
}

}  // namespace

Tensor quantize_linear(Tensor x, Tensor scale, Tensor zero_point, std::int64_t axis) try {
  if (!x.is_valid() || !scale.is_valid() || !zero_point.is_valid()) return {};
  if (!is_float(x.dtype()) || scale.dtype() != x.dtype() || !is_integer(zero_point.dtype())) {
    return refuse(
        *x.builder(), "quantize_linear",
        fmt::format("x is {}, scale {} and zero point {}, expected floats of one dtype and an integer; insert "
                    "a cast",
                    x.type().to_text(), scale.type().to_text(), zero_point.type().to_text()));
  }
  const DType wide = wide_dtype(x.dtype());
  Tensor wide_x = cast(x, wide);
  Tensor steps = round(wide_x / per_axis(cast(scale, wide), x, axis));
  return cast(steps + per_axis(cast(zero_point, wide), x, axis), zero_point.dtype());
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x, scale, zero_point}), "quantize_linear");
}

Tensor dequantize_linear(Tensor x, Tensor scale, Tensor zero_point, std::int64_t axis) try {
  if (!x.is_valid() || !scale.is_valid() || !zero_point.is_valid()) return {};
  if (!is_integer(x.dtype()) || zero_point.dtype() != x.dtype() || !is_float(scale.dtype())) {
    return refuse(*x.builder(), "dequantize_linear",
                  fmt::format("x is {}, scale {} and zero point {}, expected integers of one dtype and a float; insert "
                              "a cast",
                              x.type().to_text(), scale.type().to_text(), zero_point.type().to_text()));
  }
  const DType wide = wide_dtype(scale.dtype());
  Tensor wide_x = cast(x, wide);
  Tensor steps = wide_x - per_axis(cast(zero_point, wide), x, axis);
  return cast(steps * per_axis(cast(scale, wide), x, axis), scale.dtype());
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x, scale, zero_point}), "dequantize_linear");
}

}  // namespace millrace
