// SPDX-License-Identifier: Apache-2.0
// Softmax and norms, as composites of reductions and elementwise ops.
#include <algorithm>
#include <numeric>

#include "graph/composites/axes.h"
#include "graph/composites/composite.h"
#include "ops/infer.h"

namespace millrace {
namespace {

/// Broadcasts `reduced`, whose reduced axes have extent 1, to the shape of x.
Tensor spread(Tensor reduced, Tensor x) { return x.is_valid() ? broadcast_to(reduced, x.shape()) : Tensor(); }

/// -n, ..., -1
std::vector<std::int64_t> last_axes(std::size_t n) {
  std::vector<std::int64_t> axes(n);
  std::iota(axes.begin(), axes.end(), -static_cast<std::int64_t>(n));
  return axes;
}

/// The median of the first, the middle and the last element along the last axes, whose extents become 1.
Tensor median_of_three(Tensor x, std::size_t num_axes) {
  const Shape shape = x.shape();
  const std::size_t first_axis = shape.rank() - num_axes;
  const auto element = [&](const auto& place) {
    std::vector<SizeExpr> start(shape.rank(), 0), stop = shape.dims();
    for (std::size_t axis = first_axis; axis < shape.rank(); ++axis) {
      const SizeExpr one = min(shape[axis], 1);  // 0 for an empty row
      start[axis] = place(shape[axis], one);
      stop[axis] = start[axis] + one;
    }
    return slice(x, std::move(start), std::move(stop));
  };
  Tensor first = element([](const SizeExpr&, const SizeExpr&) { return SizeExpr(0); });
  Tensor middle = element([](const SizeExpr& extent, const SizeExpr&) { return floor_div(extent, 2); });
  Tensor last = element([](const SizeExpr& extent, const SizeExpr& one) { return extent - one; });
  Tensor lower = min(first, middle), upper = max(first, middle);
  Tensor median = max(lower, min(upper, last));
  if (!median.is_valid()) return {};
  const std::vector<SizeExpr> dims = median.shape().dims();
  const bool has_element = std::all_of(dims.begin() + static_cast<std::ptrdiff_t>(first_axis), dims.end(),
                                       [](const SizeExpr& extent) { return extent.is(1); });
  return has_element ? median : reduce_max(median, last_axes(num_axes), true);
}

struct Centred {
  Tensor x;         // x minus its mean
  Tensor variance;  // has extent 1 along the last axes
};

/// Takes all elements along the last axes as one row. Subtracts one element of each row from the row, then the mean of
/// the differences. Subtracting only the row's mean would keep the mean's rounding error: a constant row would not
/// become 0, and dividing by its deviation would enlarge the error up to 1; a row far from 0 would be off by half an
/// ulp of the mean. Differences from a near element are exact or almost exact, and all 0 in a constant row. The element
/// is the median of three, because differences from an outlier would lose digits; finding it costs no pass over x. A
/// row with an infinity or a NaN becomes NaN, and so does a row whose differences overflow.
Centred centre(Tensor x, std::size_t num_axes) {
  const std::vector<std::int64_t> axes = last_axes(num_axes);
  Tensor near = median_of_three(x, num_axes);
  if (!near.is_valid()) return {};
  // Compute x - near three times, by three formulas with the same value: if rows are too long for one kernel, equal
  // nodes would be merged and stored, but a node with one reader is computed inside its reader.
  Tensor shift = reduce_mean(spread(near, x) - x, axes, true);  // minus the mean of x - near
  if (!shift.is_valid()) return {};
  Tensor difference = x - spread(near, x);
  Tensor centred = difference + spread(shift, x);
  Tensor variance = reduce_mean(centred * centred, axes, true);
  Tensor same_difference = x + spread(-near, x);
  return {same_difference + spread(shift, x), variance};
}

/// Expects floats of rank 1 or more.
Status expect_rows(std::span<const TensorType> types) {
  MILLRACE_TRY(ops::expect_dtype(types, 0, ops::kFloats));
  if (types[0].shape.rank() > 0) return {};
  return invalid_argument(fmt::format("operand 0 is {}, expected rank 1 or more; reshape it", types[0].to_text()));
}

/// Expects floats with channels in dim 1.
Status expect_channels(std::span<const TensorType> types) {
  MILLRACE_TRY(ops::expect_dtype(types, 0, ops::kFloats));
  if (types[0].shape.rank() >= 2) return {};
  return invalid_argument(fmt::format("operand 0 is {}, expected channels in dim 1; reshape it", types[0].to_text()));
}

}  // namespace

Tensor softmax(Tensor x, std::int64_t axis) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kFloats))) return {};
    if (!find_axis(composite, x, axis)) return {};
    const DType dtype = x.dtype();
    x = widen(x, dtype);
    Tensor shifted = exp(x - spread(reduce_max(x, {axis}, true), x));
    // One division per row.
    return narrow(shifted * spread(1.0 / reduce_sum(shifted, {axis}, true), x), dtype);
  });
}

Tensor log_softmax(Tensor x, std::int64_t axis) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kFloats))) return {};
    if (!find_axis(composite, x, axis)) return {};
    const DType dtype = x.dtype();
    x = widen(x, dtype);
    Tensor shifted = x - spread(reduce_max(x, {axis}, true), x);
    return narrow(shifted - spread(log(reduce_sum(exp(shifted), {axis}, true)), x), dtype);
  });
}

Tensor rms_norm(Tensor x, Tensor scale, double epsilon) {
  return build_composite({x, scale}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(expect_rows(composite.types()))) return {};
    if (!composite.passes(expect_broadcast("scale", scale.type(), x.type()))) return {};
    const DType dtype = x.dtype();
    x = widen(x, dtype);
    Tensor normal = x * spread(rsqrt(reduce_mean(x * x, {-1}, true) + epsilon), x);
    return narrow(normal * spread(widen(scale, dtype), x), dtype);
  });
}

Tensor group_norm(Tensor x, std::int64_t groups, Tensor scale, Tensor bias, double epsilon) {
  return build_composite({x, scale, bias}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(expect_channels(composite.types()))) return {};
    const Shape shape = x.shape();
    if (groups < 1 || (shape[1].is_constant() && shape[1].constant() % groups != 0)) {
      return composite.refuse(
          fmt::format("groups is {}, expected a positive divisor of the channels in dim 1 of operand 0, {}; "
                      "correct it",
                      groups, x.type().to_text()));
    }
    if (!composite.passes(expect_per_channel("scale", scale.type(), x.type()))) return {};
    if (!composite.passes(expect_per_channel("bias", bias.type(), x.type()))) return {};
    const SizeExpr channels = floor_div(shape[1], groups);
    SizeExpr pixels = 1;
    for (std::size_t d = 2; d < shape.rank(); ++d) pixels = pixels * shape[d];
    const DType dtype = x.dtype();
    // Reshape before and after everything else, so that no reshape stands between two ops of one kernel.
    Tensor grouped = widen(reshape(x, {shape[0], groups, channels, pixels}), dtype);
    if (!grouped.is_valid()) return {};
    const auto by_channel = [&](Tensor t) {
      Tensor by_group = reshape(t, {groups, channels});
      return by_group.is_valid() ? broadcast(widen(by_group, dtype), grouped.shape(), {1, 2}) : Tensor();
    };
    const Centred centred = centre(grouped, 2);
    Tensor normal = centred.x * spread(rsqrt(centred.variance + epsilon), grouped);
    Tensor scaled = normal * by_channel(scale);
    return reshape(narrow(scaled + by_channel(bias), dtype), shape);
  });
}

Tensor instance_norm(Tensor x, Tensor scale, Tensor bias, double epsilon) {
  return build_composite({x, scale, bias}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(expect_channels(composite.types()))) return {};
    const Shape& shape = x.shape();
    if (!shape[1].is_constant()) {
      return composite.refuse(fmt::format("operand is {}, expected a constant number of channels in dim 1; reshape it",
                                          x.type().to_text()));
    }
    return group_norm(x, shape[1].constant(), scale, bias, epsilon);
  });
}

Tensor batch_norm(Tensor x, Tensor mean, Tensor variance, Tensor scale, Tensor bias, double epsilon) {
  return build_composite({x, mean, variance, scale, bias}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(expect_channels(composite.types()))) return {};
    constexpr std::string_view kWhat[] = {"mean", "variance", "scale", "bias"};
    for (std::size_t i = 0; i < 4; ++i) {
      if (!composite.passes(expect_per_channel(kWhat[i], composite.types()[1 + i], x.type()))) return {};
    }
    const Shape shape = x.shape();
    const DType dtype = x.dtype();
    const auto by_channel = [&](Tensor t) { return broadcast(widen(t, dtype), shape, {1}); };
    x = widen(x, dtype);
    Tensor centred = x - by_channel(mean);
    Tensor factor = rsqrt(widen(variance, dtype) + epsilon);
    factor *= widen(scale, dtype);
    Tensor scaled = centred * broadcast(factor, shape, {1});
    return narrow(scaled + by_channel(bias), dtype);
  });
}

/// The mean of squares over a window of channels is an average pool over images with the channels as rows.
Tensor local_response_norm(Tensor x, LocalResponseAttributes attributes) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(expect_channels(composite.types()))) return {};
    if (attributes.size < 1) {
      return composite.refuse(fmt::format("size is {}, expected 1 or more; correct it", attributes.size));
    }
    const Shape shape = x.shape();
    const DType dtype = x.dtype();
    x = widen(x, dtype);
    SizeExpr rest = 1;
    for (std::size_t d = 2; d < shape.rank(); ++d) rest = rest * shape[d];
    Tensor squares = reshape(x * x, {shape[0], 1, shape[1], rest});
    Tensor mean = avg_pool2d(squares, {.window = {attributes.size, 1},
                                       .strides = {1, 1},
                                       .padding = {(attributes.size - 1) / 2, 0, attributes.size / 2, 0},
                                       .count_include_pad = true});
    Tensor base = reshape(mean, shape) * attributes.alpha + attributes.bias;
    return narrow(x / pow(base, attributes.beta), dtype);
  });
}

Tensor logsumexp(Tensor x, std::vector<std::int64_t> axes, bool keep_dims) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kFloats))) return {};
    if (!find_axes(composite, x, axes, x.shape().rank())) return {};
    const DType dtype = x.dtype();
    x = widen(x, dtype);
    Tensor largest = reduce_max(x, axes, true);
    // If the maximum is infinite, x - max would be NaN. Subtract 0 instead; the log of the sum is then that infinity.
    if (!largest.is_valid()) return {};
    Tensor zero = largest.builder()->fill(largest.dtype(), largest.shape(), 0);
    largest = select(is_inf(largest), zero, largest);
    Tensor sum = reduce_sum(exp(x - largest), axes, true);
    Tensor result = narrow(log(sum) + largest, dtype);
    return keep_dims ? result : squeeze(result, axes);
  });
}

Tensor l2_normalize(Tensor x, std::int64_t axis, double epsilon) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kFloats))) return {};
    if (!find_axis(composite, x, axis)) return {};
    const DType dtype = x.dtype();
    x = widen(x, dtype);
    Tensor length = max(sqrt(reduce_sum(x * x, {axis}, true)), epsilon);
    return narrow(x / length, dtype);
  });
}

Tensor layer_norm(Tensor x, Tensor scale, Tensor bias, double epsilon) {
  return build_composite({x, scale, bias}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(expect_rows(composite.types()))) return {};
    if (!composite.passes(expect_broadcast("scale", scale.type(), x.type()))) return {};
    if (!composite.passes(expect_broadcast("bias", bias.type(), x.type()))) return {};
    const DType dtype = x.dtype();
    x = widen(x, dtype);
    const Centred centred = centre(x, 1);
    Tensor normal = centred.x * spread(rsqrt(centred.variance + epsilon), x);
    if (!normal.is_valid()) return {};
    // Two statements: the node order must not depend on the order in which the compiler evaluates operands.
    Tensor scaled = normal * broadcast_to(widen(scale, dtype), x.shape());
    return narrow(scaled + broadcast_to(widen(bias, dtype), x.shape()), dtype);
  });
}

}  // namespace millrace
