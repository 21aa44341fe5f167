// SPDX-License-Identifier: Apache-2.0
// Inverse trigonometry and hyperbolic functions, as composites of elementwise ops. Each keeps the relative accuracy of
// the ops in it, to a few ulp, over the whole domain of the function: no digits cancel near 0 or 1, and no step
// overflows before the result does. Outside the domain, the result is NaN.
#include <numbers>

#include "graph/composites/composite.h"
#include "ops/infer.h"

namespace millrace {
namespace {

/// Applies the function to floats; to 16-bit floats in f32.
Tensor apply(const Composite& composite, Tensor x, Tensor (*function)(Tensor)) {
  if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kFloats))) return {};
  const DType dtype = x.dtype();
  return narrow(function(widen(x, dtype)), dtype);
}

/// sqrt(1 - x^2). 1 - x is exact where the difference is small.
Tensor complement(Tensor x) {
  Tensor below = 1.0 - x;
  return sqrt(below * (x + 1.0));
}

/// e^x / 2 for x >= 0, which is finite for some x whose e^x is not.
Tensor half_exp(Tensor x) {
  Tensor root = exp(x * 0.5);
  return root * 0.5 * root;
}

/// log(2 * x): the inverse hyperbolic functions of x above kFar, to all digits.
constexpr double kFar = 0x1p28;
Tensor log_of_twice(Tensor x) { return log(x) + std::numbers::ln2; }

}  // namespace

Tensor asin(Tensor x) {
  return build_composite(
      {x}, [&](Composite& composite) { return apply(composite, x, [](Tensor v) { return atan2(v, complement(v)); }); });
}

Tensor acos(Tensor x) {
  return build_composite(
      {x}, [&](Composite& composite) { return apply(composite, x, [](Tensor v) { return atan2(complement(v), v); }); });
}

Tensor atan(Tensor x) {
  return build_composite(
      {x}, [&](Composite& composite) { return apply(composite, x, [](Tensor v) { return atan2(v, 1.0); }); });
}

Tensor sinh(Tensor x) {
  return build_composite({x}, [&](Composite& composite) {
    return apply(composite, x, [](Tensor v) {
      Tensor size = abs(v);
      Tensor rise = expm1(size);
      Tensor near = (rise + rise / (rise + 1.0)) * 0.5;
      Tensor far = half_exp(size);  // e^-x no longer counts
      Tensor result = select(less(size, 22.0), near, far);
      return sign(v) * result;
    });
  });
}

Tensor cosh(Tensor x) {
  return build_composite({x}, [&](Composite& composite) {
    return apply(composite, x, [](Tensor v) {
      Tensor size = abs(v);
      Tensor rising = half_exp(size);
      return rising + exp(-size) * 0.5;
    });
  });
}

Tensor asinh(Tensor x) {
  return build_composite({x}, [&](Composite& composite) {
    return apply(composite, x, [](Tensor v) {
      // log(x + sqrt(x^2 + 1)), as a log1p: 1 is subtracted from the argument.
      Tensor size = abs(v);
      Tensor square = size * size;
      Tensor root = sqrt(square + 1.0);
      Tensor near = log1p(size + square / (root + 1.0));
      Tensor far = log_of_twice(size);
      Tensor result = select(less(size, kFar), near, far);
      return sign(v) * result;
    });
  });
}

Tensor acosh(Tensor x) {
  return build_composite({x}, [&](Composite& composite) {
    return apply(composite, x, [](Tensor v) {
      // log(x + sqrt(x^2 - 1)), as a log1p: 1 is subtracted from the argument. Below 1, the first root is NaN.
      Tensor above = v - 1.0;
      Tensor root = sqrt(above);
      Tensor near = log1p(above + root * sqrt(above + 2.0));
      Tensor far = log_of_twice(v);
      return select(greater(v, kFar), far, near);
    });
  });
}

Tensor atanh(Tensor x) {
  return build_composite({x}, [&](Composite& composite) {
    return apply(composite, x, [](Tensor v) {
      // log((1 + x) / (1 - x)) / 2, as a log1p: 1 is subtracted from the argument.
      Tensor size = abs(v);
      Tensor twice = size * 2.0;
      Tensor result = log1p(twice / (1.0 - size)) * 0.5;
      return sign(v) * result;
    });
  });
}

}  // namespace millrace
