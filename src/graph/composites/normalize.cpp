// SPDX-License-Identifier: Apache-2.0
#include "graph/composites/composite.h"

namespace millrace {
namespace {

/// Broadcasts `reduced`, whose reduced axes have extent 1, to the shape of x.
Tensor spread(Tensor reduced, Tensor x) { return x.is_valid() ? broadcast_to(reduced, x.shape()) : Tensor(); }

}  // namespace

Tensor softmax(Tensor x, std::int64_t axis) try {
  if (!x.is_valid()) return {};
  const DType dtype = x.dtype();
  x = widen(x, dtype);
  Tensor shifted = exp(x - spread(reduce_max(x, {axis}, true), x));
  return narrow(shifted / spread(reduce_sum(shifted, {axis}, true), x), dtype);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), "softmax");
}

Tensor log_softmax(Tensor x, std::int64_t axis) try {
  if (!x.is_valid()) return {};
  const DType dtype = x.dtype();
  x = widen(x, dtype);
  Tensor shifted = x - spread(reduce_max(x, {axis}, true), x);
  return narrow(shifted - spread(log(reduce_sum(exp(shifted), {axis}, true)), x), dtype);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), "log_softmax");
}

Tensor rms_norm(Tensor x, Tensor scale, double epsilon) try {
  if (!x.is_valid()) return {};
  const DType dtype = x.dtype();
  x = widen(x, dtype);
  Tensor normal = x * spread(rsqrt(reduce_mean(x * x, {-1}, true) + epsilon), x);
  return narrow(normal * spread(widen(scale, dtype), x), dtype);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x, scale}), "rms_norm");
}

Tensor group_norm(Tensor x, std::int64_t groups, Tensor scale, Tensor bias, double epsilon) try {
  if (!x.is_valid()) return {};
  GraphBuilder& graph = *x.builder();
  const Shape shape = x.shape();
  if (shape.rank() < 2 || groups < 1) {
    return graph.fail(invalid_argument(fmt::format(
        "%{} = group_norm: operand is {} and groups is {}, expected channels in dim 1 and 1 group or more; reshape it",
        graph.graph().nodes.size(), x.type().to_text(), groups)));
  }
  SizeExpr rest = floor_div(shape[1], groups);
  for (std::size_t d = 2; d < shape.rank(); ++d) rest = rest * shape[d];
  const DType dtype = x.dtype();
  Tensor grouped = reshape(widen(x, dtype), {shape[0], groups, rest});
  Tensor centred = grouped - spread(reduce_mean(grouped, {2}, true), grouped);
  Tensor variance = reduce_mean(centred * centred, {2}, true);
  Tensor normal = reshape(centred * spread(rsqrt(variance + epsilon), grouped), shape);
  Tensor scaled = normal * broadcast(widen(scale, dtype), shape, {1});
  return narrow(scaled + broadcast(widen(bias, dtype), shape, {1}), dtype);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x, scale, bias}), "group_norm");
}

Tensor instance_norm(Tensor x, Tensor scale, Tensor bias, double epsilon) try {
  if (!x.is_valid()) return {};
  const Shape& shape = x.shape();
  if (shape.rank() < 2 || !shape[1].is_constant()) {
    return refuse(
        *x.builder(), "instance_norm",
        fmt::format("operand is {}, expected a constant number of channels in dim 1; reshape it", x.type().to_text()));
  }
  return group_norm(x, shape[1].constant(), scale, bias, epsilon);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x, scale, bias}), "instance_norm");
}

Tensor batch_norm(Tensor x, Tensor mean, Tensor variance, Tensor scale, Tensor bias, double epsilon) try {
  if (!x.is_valid()) return {};
  const Shape shape = x.shape();
  if (shape.rank() < 2) {
    return refuse(*x.builder(), "batch_norm",
                  fmt::format("operand is {}, expected channels in dim 1; reshape it", x.type().to_text()));
  }
  const DType dtype = x.dtype();
  const auto by_channel = [&](Tensor t) { return broadcast(widen(t, dtype), shape, {1}); };
  x = widen(x, dtype);
  Tensor centred = x - by_channel(mean);
  Tensor factor = rsqrt(widen(variance, dtype) + epsilon);
  factor *= widen(scale, dtype);
  Tensor scaled = centred * broadcast(factor, shape, {1});
  return narrow(scaled + by_channel(bias), dtype);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x, mean, variance, scale, bias}), "batch_norm");
}

Tensor logsumexp(Tensor x, std::vector<std::int64_t> axes, bool keep_dims) try {
  if (!x.is_valid()) return {};
  const DType dtype = x.dtype();
  x = widen(x, dtype);
  Tensor largest = reduce_max(x, axes, true);
  // An infinity as the maximum would make x - max NaN; 0 in its place leaves the infinity to the sum.
  if (!largest.is_valid()) return {};
  Tensor zero = largest.builder()->fill(largest.dtype(), largest.shape(), 0);
  largest = select(is_inf(largest), zero, largest);
  Tensor sum = reduce_sum(exp(x - largest), axes, true);
  Tensor result = log(sum) + largest;
  if (!keep_dims) result = squeeze(result, axes);
  return narrow(result, dtype);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), "logsumexp");
}

Tensor l2_normalize(Tensor x, std::int64_t axis, double epsilon) try {
  if (!x.is_valid()) return {};
  const DType dtype = x.dtype();
  x = widen(x, dtype);
  Tensor length = max(sqrt(reduce_sum(x * x, {axis}, true)), epsilon);
  return narrow(x / length, dtype);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x}), "l2_normalize");
}

Tensor layer_norm(Tensor x, Tensor scale, Tensor bias, double epsilon) try {
  if (!x.is_valid()) return {};
  const DType dtype = x.dtype();
  x = widen(x, dtype);
  Tensor centred = x - spread(reduce_mean(x, {-1}, true), x);
  Tensor variance = reduce_mean(centred * centred, {-1}, true);
  Tensor normal = centred * spread(rsqrt(variance + epsilon), x);
  if (!normal.is_valid()) return {};
  // Two statements: the node order must not depend on the order in which the compiler evaluates operands.
  Tensor scaled = normal * broadcast_to(widen(scale, dtype), x.shape());
  return narrow(scaled + broadcast_to(widen(bias, dtype), x.shape()), dtype);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x, scale, bias}), "layer_norm");
}

}  // namespace millrace
