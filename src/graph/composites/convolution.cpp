// SPDX-License-Identifier: Apache-2.0
#include "graph/composites/composite.h"

namespace millrace {
namespace {

/// y[n, o, ...] + bias[o].
Tensor add_bias(const char* name, Tensor y, Tensor bias) {
  if (!y.is_valid()) return {};
  if (!bias.is_valid()) return y + bias;  // which is refused
  const TensorType expected{y.dtype(), {y.shape()[1]}};
  if (bias.type() != expected) {
    return refuse(*y.builder(), name,
                  fmt::format("bias is {}, expected {}, one element per filter; reshape or cast it",
                              bias.type().to_text(), expected.to_text()));
  }
  return y + broadcast(bias, y.shape(), {1});
}

}  // namespace

Tensor conv2d(Tensor x, Tensor weights, Tensor bias, Conv2dAttrs attributes) try {
  return add_bias("conv2d", conv2d(x, weights, std::move(attributes)), bias);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x, weights, bias}), "conv2d");
}

Tensor conv1d(Tensor x, Tensor weights, Conv1dAttributes attributes) try {
  if (!x.is_valid() || !weights.is_valid()) return {};
  GraphBuilder& graph = *x.builder();
  const Shape from = x.shape();
  const Shape window = weights.shape();
  if (from.rank() != 3 || window.rank() != 3) {
    return refuse(graph, "conv1d",
                  fmt::format("operands are {} and {}, expected ranks 3 (n, c, w; o, c, kw); reshape them",
                              x.type().to_text(), weights.type().to_text()));
  }
  Tensor image = reshape(x, {from[0], from[1], 1, from[2]});
  Tensor filters = reshape(weights, {window[0], window[1], 1, window[2]});
  Tensor y = conv2d(image, filters,
                    {.strides = {1, attributes.stride},
                     .padding = {0, attributes.padding_low, 0, attributes.padding_high},
                     .dilations = {1, attributes.dilation},
                     .groups = attributes.groups});
  if (!y.is_valid()) return {};
  return reshape(y, {y.shape()[0], y.shape()[1], y.shape()[3]});
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x, weights}), "conv1d");
}

Tensor conv1d(Tensor x, Tensor weights, Tensor bias, Conv1dAttributes attributes) try {
  return add_bias("conv1d", conv1d(x, weights, attributes), bias);
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({x, weights, bias}), "conv1d");
}

}  // namespace millrace
