// SPDX-License-Identifier: Apache-2.0
#include "examples/digits/digit_network.h"

#include <string>

namespace digits {
using namespace millrace;

namespace {

/// Layers whose parameters are tensors of a file: `name`.weight and `name`.bias.
struct TrainedLayers {
  GraphBuilder& graph;
  const Safetensors& file;

  Tensor parameter(const std::string& name) const {
    const Result<Safetensors::Entry> entry = file.get(name);
    return entry.ok() ? graph.constant_shared(entry->type, entry->shared_bytes()) : graph.fail(entry.status());
  }

  /// A 3x3 convolution that keeps height and width, with a bias per channel.
  Tensor conv(Tensor x, const std::string& name) const {
    const Tensor weight = parameter(name + ".weight"), bias = parameter(name + ".bias");
    return conv2d(x, weight, bias, {.padding = {1, 1, 1, 1}});
  }

  Tensor dense(Tensor x, const std::string& name) const {
    const Tensor weight = parameter(name + ".weight"), bias = parameter(name + ".bias");
    return matmul(x, weight) + bias;
  }
};

}  // namespace

Result<Graph> build_digit_network(const Safetensors& weights, SizeExpr batch) {
  GraphBuilder graph("digits");
  const TrainedLayers layers = {graph, weights};

  Tensor x = graph.input("images", DType::kF32, {batch, 1, 8, 8});
  x = relu(layers.conv(x, "conv1"));
  x = relu(layers.conv(x, "conv2"));
  x = max_pool2d(x);  // 2x2
  x = reshape(x, {batch, 32 * 4 * 4});
  x = relu(layers.dense(x, "dense1"));
  x = softmax(layers.dense(x, "dense2"));

  const auto [probabilities, classes] = topk(x, kGuesses);
  graph.output("probabilities", probabilities);
  graph.output("classes", classes);
  return graph.finish();
}

}  // namespace digits
