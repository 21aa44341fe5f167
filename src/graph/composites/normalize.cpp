// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "millrace/graph/functions.h"

namespace millrace {
namespace {

/// `reduced` has extent 1 along the reduced axes: spread it over the shape of x again.
Tensor spread(Tensor reduced, Tensor x) { return x.is_valid() ? broadcast_to(reduced, x.shape()) : Tensor(); }

}  // namespace

Tensor softmax(Tensor x, std::int64_t axis) {
  Tensor shifted = exp(x - spread(reduce_max(x, {axis}, true), x));
  return shifted / spread(reduce_sum(shifted, {axis}, true), x);
}

Tensor layer_norm(Tensor x, Tensor scale, Tensor bias, double epsilon) {
  Tensor centred = x - spread(reduce_mean(x, {-1}, true), x);
  Tensor variance = reduce_mean(centred * centred, {-1}, true);
  Tensor normal = centred * spread(rsqrt(variance + epsilon), x);
  if (!normal.is_valid()) return {};
  // In two statements: the graph must not depend on the order in which a compiler evaluates operands.
  Tensor scaled = normal * broadcast_to(scale, x.shape());
  return scaled + broadcast_to(bias, x.shape());
}

}  // namespace millrace
