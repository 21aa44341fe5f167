// SPDX-License-Identifier: Apache-2.0
#include "tests/support/graphs/squeezenet.h"

#include <cmath>
#include <random>

namespace millrace {
namespace {

class SqueezeNet {
 public:
  explicit SqueezeNet(std::uint64_t seed) : graph_("squeezenet"), random_(seed) {}

  Graph build() {
    Tensor x = graph_.input("image", DType::kF32, {1, 3, 224, 224});
    x = relu(conv(x, 64, 3, {.strides = {2, 2}}));
    x = fire(fire(pool(x), 16, 64), 16, 64);
    x = fire(fire(pool(x), 32, 128), 32, 128);
    x = fire(fire(pool(x), 48, 192), 48, 192);
    x = fire(fire(x, 64, 256), 64, 256);
    x = relu(conv(x, 1000, 1, {}));
    Tensor probabilities = softmax(reduce_mean(x, {2, 3}));
    auto [top, classes] = topk(probabilities, 5);
    graph_.output("probabilities", probabilities);
    graph_.output("top", top);
    graph_.output("classes", classes);
    return graph_.finish().value();
  }

 private:
  Tensor pool(Tensor x) { return max_pool2d(x, {.window = {3, 3}, .strides = {2, 2}}); }

  /// Weights with the spread that keeps the activations' spread (He et al., arXiv:1502.01852), and a bias.
  Tensor conv(Tensor x, std::int64_t channels, std::int64_t window, Conv2dAttrs attributes) {
    const std::int64_t in = x.shape()[1].constant();
    std::normal_distribution<float> normal(0, std::sqrt(2.0f / static_cast<float>(in * window * window)));
    std::vector<float> weights(static_cast<std::size_t>(channels * in * window * window)),
        bias(static_cast<std::size_t>(channels));
    for (float& weight : weights) weight = normal(random_);
    for (float& value : bias) value = 0.1f * normal(random_);
    Tensor product = conv2d(x, graph_.constant<float>({channels, in, window, window}, weights), attributes);
    Tensor spread = broadcast(graph_.constant<float>({channels}, bias), product.shape(), {1});
    return product + spread;
  }

  Tensor fire(Tensor x, std::int64_t squeezed, std::int64_t expanded) {
    Tensor squeeze = relu(conv(x, squeezed, 1, {}));
    Tensor near = relu(conv(squeeze, expanded, 1, {}));
    Tensor wide = relu(conv(squeeze, expanded, 3, {.padding = {1, 1, 1, 1}}));
    return concat(std::vector<Tensor>{near, wide}, 1);
  }

  GraphBuilder graph_;
  std::mt19937_64 random_;
};

}  // namespace

Graph build_squeezenet(std::uint64_t seed) { return SqueezeNet(seed).build(); }

}  // namespace millrace
