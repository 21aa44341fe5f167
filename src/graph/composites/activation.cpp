// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "millrace/graph/functions.h"

namespace millrace {

Tensor relu(Tensor x) { return x.is_valid() ? max(x, x.builder()->fill(x.dtype(), x.shape(), 0)) : Tensor(); }

Tensor silu(Tensor x) { return x * sigmoid(x); }

Tensor clamp(Tensor x, double low, double high) {
  if (!x.is_valid()) return {};
  const auto all = [&](double value) { return x.builder()->fill(x.dtype(), x.shape(), value); };
  Tensor raised = max(x, all(low));
  return min(raised, all(high));
}

Tensor gelu(Tensor x) {
  Tensor twice_cdf = erf(x * (1 / std::numbers::sqrt2)) + 1.0;
  return x * 0.5 * twice_cdf;
}

}  // namespace millrace
