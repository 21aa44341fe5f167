// SPDX-License-Identifier: Apache-2.0
// Activation functions as composites of elementwise ops.
#include <cmath>
#include <limits>
#include <numbers>

#include "graph/composites/composite.h"
#include "ops/infer.h"

namespace millrace {

Tensor relu(Tensor x) try {
  const CompositeGuard guard("relu", {x});
  if (!guard.is_open() || !guard.passes(ops::expect_dtype(guard.types(), 0, ops::kArithmetic))) return {};
  return max(x, x.builder()->fill(x.dtype(), x.shape(), 0));
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), "relu");
}

Tensor silu(Tensor x) try {
  const CompositeGuard guard("silu", {x});
  return guard.is_open() ? x * sigmoid(x) : Tensor();
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), "silu");
}

Tensor clamp(Tensor x, double low, double high) try {
  const CompositeGuard guard("clamp", {x});
  if (!guard.is_open() || !guard.passes(ops::expect_dtype(guard.types(), 0, ops::kArithmetic))) return {};
  for (const double bound : {low, high}) {
    // A bound outside the dtype's range has no effect. A fraction is refused, because rounding it would be a guess.
    if (is_float(x.dtype()) || std::isinf(bound) || std::trunc(bound) == bound) continue;
    return refuse(*x.builder(), "clamp",
                  fmt::format("the bound {} for {}, expected an integer; cast the tensor", bound, x.type().to_text()));
  }
  const auto all = [&](double value) { return x.builder()->fill(x.dtype(), x.shape(), value); };
  Tensor raised = max(x, all(low));
  return min(raised, all(high));
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), "clamp");
}

Tensor gelu(Tensor x) try {
  const CompositeGuard guard("gelu", {x});
  if (!guard.is_open() || !guard.passes(ops::expect_dtype(guard.types(), 0, ops::kFloats))) return {};
  Tensor twice_cdf = erf(x * (1 / std::numbers::sqrt2)) + 1.0;
  return x * 0.5 * twice_cdf;
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), "gelu");
}

Tensor gelu_tanh(Tensor x) try {
  const CompositeGuard guard("gelu_tanh", {x});
  if (!guard.is_open() || !guard.passes(ops::expect_dtype(guard.types(), 0, ops::kFloats))) return {};
  Tensor cube = x * x * x;
  Tensor inner = (x + cube * 0.044715) * std::sqrt(2 / std::numbers::pi);
  Tensor twice_cdf = tanh(inner) + 1.0;
  return x * 0.5 * twice_cdf;
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), "gelu_tanh");
}

Tensor elu(Tensor x, double alpha) try {
  const CompositeGuard guard("elu", {x});
  if (!guard.is_open() || !guard.passes(ops::expect_dtype(guard.types(), 0, ops::kFloats))) return {};
  Tensor below = expm1(min(x, 0.0)) * alpha;  // for large x, e^x would be inf, and inf * 0 NaN
  return select(greater(x, 0.0), x, below);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), "elu");
}

Tensor mish(Tensor x) try {
  const CompositeGuard guard("mish", {x});
  return guard.is_open() ? x * tanh(softplus(x)) : Tensor();
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), "mish");
}

Tensor is_inf(Tensor x) try {
  const CompositeGuard guard("is_inf", {x});
  if (!guard.is_open() || !guard.passes(ops::expect_dtype(guard.types(), 0, ops::kFloats))) return {};
  return equal(abs(x), std::numeric_limits<double>::infinity());
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), "is_inf");
}

}  // namespace millrace
