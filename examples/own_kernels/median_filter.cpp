// SPDX-License-Identifier: Apache-2.0
// A window without padding: nine loads at each point, and a network of exchanges.
#include <array>
#include <utility>

#include "examples/own_kernels/kernels.h"
#include "millrace/jit/loop_kernel_builder.h"

namespace own {

using namespace millrace;

namespace {

/// The exchanges after which place 4 holds the median of nine values. Source: Paeth, "Median Finding on a 3x3 Grid",
/// Graphics Gems, 1990.
constexpr std::pair<int, int> kExchanges[] = {{1, 2}, {4, 5}, {7, 8}, {0, 1}, {3, 4}, {6, 7}, {1, 2},
                                              {4, 5}, {7, 8}, {0, 3}, {5, 8}, {4, 7}, {3, 6}, {1, 4},
                                              {2, 5}, {4, 7}, {4, 2}, {6, 4}, {4, 2}};

}  // namespace

KernelResults median_filter(GraphBuilder& graph, Tensor x) {
  return graph.kernel("median_filter", {x}, [&](LoopKernelBuilder& k, std::span<const OperandId> in) {
    const SizeExpr height = x.shape()[0] - 2, width = x.shape()[1] - 2;
    const AffineIndex h = k.parallel("h", height), w = k.parallel("w", width);
    BodyBuilder& b = k.epilogue();
    std::array<BodyValue, 9> window;
    for (int i = 0; i < 9; ++i) window[static_cast<std::size_t>(i)] = k.load(b, in[0], {h + i / 3, w + i % 3});
    for (const auto& [low, high] : kExchanges) {
      BodyValue& first = window[static_cast<std::size_t>(low)];
      BodyValue& second = window[static_cast<std::size_t>(high)];
      const BodyValue is_less = b.lt(first, second);
      const BodyValue smaller = b.select(is_less, first, second), larger = b.select(is_less, second, first);
      first = smaller;
      second = larger;
    }
    k.store("y", {DType::kF32, {height, width}}, {h, w}, window[4]);
  });
}

}  // namespace own
