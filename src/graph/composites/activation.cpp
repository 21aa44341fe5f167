// SPDX-License-Identifier: Apache-2.0
// Activation functions as composites of elementwise ops.
#include <cmath>
#include <limits>
#include <numbers>

#include "graph/composites/composite.h"
#include "ops/infer.h"

namespace millrace {

Tensor relu(Tensor x) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kArithmetic))) return {};
    return max(x, x.builder()->fill(x.dtype(), x.shape(), 0));
  });
}

Tensor silu(Tensor x) {
  return build_composite({x}, [&](Composite&) { return x * sigmoid(x); });
}

Tensor clamp(Tensor x, double low, double high) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kArithmetic))) return {};
    for (const double bound : {low, high}) {
      // A bound outside the dtype's range has no effect. A fraction is refused, because rounding it would be a guess.
      if (is_float(x.dtype()) || std::isinf(bound) || std::trunc(bound) == bound) continue;
      return composite.refuse(
          fmt::format("the bound {} for {}, expected an integer; cast the tensor", bound, x.type().to_text()));
    }
    const auto all = [&](double value) { return x.builder()->fill(x.dtype(), x.shape(), value); };
    Tensor raised = max(x, all(low));
    return min(raised, all(high));
  });
}

Tensor gelu(Tensor x) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kFloats))) return {};
    Tensor twice_cdf = erf(x * (1 / std::numbers::sqrt2)) + 1.0;
    return x * 0.5 * twice_cdf;
  });
}

Tensor gelu_tanh(Tensor x) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kFloats))) return {};
    Tensor cube = x * x * x;
    Tensor inner = (x + cube * 0.044715) * std::sqrt(2 / std::numbers::pi);
    Tensor twice_cdf = tanh(inner) + 1.0;
    return x * 0.5 * twice_cdf;
  });
}

Tensor elu(Tensor x, double alpha) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kFloats))) return {};
    Tensor below = expm1(min(x, 0.0)) * alpha;  // for large x, e^x would be inf, and inf * 0 NaN
    return select(greater(x, 0.0), x, below);
  });
}

Tensor celu(Tensor x, double alpha) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kFloats))) return {};
    if (alpha == 0) return composite.refuse("alpha is 0, expected another number; use relu");
    Tensor below = expm1(min(x, 0.0) / alpha) * alpha;
    return select(greater(x, 0.0), x, below);
  });
}

Tensor selu(Tensor x, double alpha, double gamma) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kFloats))) return {};
    return elu(x, alpha) * gamma;
  });
}

Tensor hard_sigmoid(Tensor x, double alpha, double beta) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kFloats))) return {};
    return clamp(x * alpha + beta, 0, 1);
  });
}

Tensor softsign(Tensor x) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kFloats))) return {};
    return x / (abs(x) + 1.0);
  });
}

Tensor mish(Tensor x) {
  return build_composite({x}, [&](Composite&) { return x * tanh(softplus(x)); });
}

Tensor is_inf(Tensor x) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kFloats))) return {};
    return equal(abs(x), std::numeric_limits<double>::infinity());
  });
}

}  // namespace millrace
