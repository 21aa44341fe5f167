// SPDX-License-Identifier: Apache-2.0
// conv1d, and convolutions with a bias, built on the conv2d op.
#include "graph/composites/composite.h"
#include "graph/composites/window1d.h"
#include "ops/infer.h"

namespace millrace {
namespace {

Status check_conv1d(std::span<const TensorType> types, const Conv1dAttributes& attributes) {
  const TensorType &x = types[0], &weights = types[1];
  MILLRACE_TRY(ops::expect_dtype(types, 0, ops::kArithmetic));
  MILLRACE_TRY(ops::expect_rank(types, 0, 3, "n, c, w"));
  MILLRACE_TRY(ops::expect_rank(types, 1, 3, "o, c, kw"));
  if (weights.dtype != x.dtype) {
    return invalid_argument(
        fmt::format("operand 1 is {}, expected {} like operand 0; insert a cast", weights.to_text(), to_text(x.dtype)));
  }
  const std::int64_t groups = attributes.groups;
  if (groups < 1) return invalid_argument(fmt::format("groups is {}, expected 1 or more; correct it", groups));
  const SizeExpr &channels = x.shape[1], &filters = weights.shape[0];
  if (weights.shape[1] * groups != channels) {
    return invalid_argument(
        fmt::format("operand 1 is {}, expected {} channels in dim 1 like operand 0, {}{}; weights "
                    "are o, c, kw",
                    weights.to_text(), floor_div(channels, groups).to_text(), x.to_text(),
                    groups == 1 ? "" : fmt::format(", in {} groups", groups)));
  }
  if (filters.is_constant() && filters.constant() % groups != 0) {
    return invalid_argument(
        fmt::format("operand 1 is {}, expected the filters in dim 0 to be a multiple of the {} groups; change "
                    "groups",
                    weights.to_text(), groups));
  }
  return expect_window1d(
      x, {weights.shape[2], attributes.stride, attributes.padding_low, attributes.padding_high, attributes.dilation});
}

/// y[n, o, ...] + bias[o].
Tensor add_bias(const Composite& composite, Tensor y, Tensor bias) {
  if (!y.is_valid()) return {};
  const TensorType expected{y.dtype(), {y.shape()[1]}};
  if (bias.type() != expected) {
    return composite.refuse(fmt::format("bias is {}, expected {}, one element per filter; reshape or cast it",
                                        bias.type().to_text(), expected.to_text()));
  }
  return y + broadcast(bias, y.shape(), {1});
}

}  // namespace

Tensor conv2d(Tensor x, Tensor weights, Tensor bias, Conv2dAttrs attributes) {
  return build_composite({x, weights, bias}, [&](Composite& composite) -> Tensor {
    return add_bias(composite, conv2d(x, weights, std::move(attributes)), bias);
  });
}

Tensor conv1d(Tensor x, Tensor weights, Conv1dAttributes attributes) {
  return build_composite({x, weights}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(check_conv1d(composite.types(), attributes))) return {};
    const Shape from = x.shape();
    const Shape window = weights.shape();
    Tensor image = reshape(x, {from[0], from[1], 1, from[2]});
    Tensor filters = reshape(weights, {window[0], window[1], 1, window[2]});
    Tensor y = conv2d(image, filters,
                      {.strides = {1, attributes.stride},
                       .padding = {0, attributes.padding_low, 0, attributes.padding_high},
                       .dilations = {1, attributes.dilation},
                       .groups = attributes.groups});
    if (!y.is_valid()) return {};
    return reshape(y, {y.shape()[0], y.shape()[1], y.shape()[3]});
  });
}

Tensor conv1d(Tensor x, Tensor weights, Tensor bias, Conv1dAttributes attributes) {
  return build_composite({x, weights, bias}, [&](Composite& composite) -> Tensor {
    return add_bias(composite, conv1d(x, weights, attributes), bias);
  });
}

}  // namespace millrace
