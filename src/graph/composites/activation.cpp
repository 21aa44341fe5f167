// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "millrace/graph/functions.h"

namespace millrace {

Tensor relu(Tensor x) { return x.is_valid() ? max(x, x.builder()->fill(x.dtype(), x.shape(), 0)) : Tensor(); }

Tensor gelu(Tensor x) {
  Tensor twice_cdf = erf(x * (1 / std::numbers::sqrt2)) + 1.0;
  return x * 0.5 * twice_cdf;
}

}  // namespace millrace
