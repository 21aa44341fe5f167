// SPDX-License-Identifier: Apache-2.0
// Moves elements between channels and pixels, by reshapes and a transpose.
#include "graph/composites/composite.h"

namespace millrace {
namespace {

Tensor refuse_blocks(const Composite& composite, Tensor x, std::int64_t block, std::string_view expected) {
  return composite.refuse(
      fmt::format("operand is {} and block is {}, expected {}; correct them", x.type().to_text(), block, expected));
}

bool divides(std::int64_t divisor, const SizeExpr& size) { return size.known_multiple() % divisor == 0; }
bool is_block(std::int64_t block) { return block >= 1 && block <= 1 << 15; }

}  // namespace

Tensor depth_to_space(Tensor x, std::int64_t block, DepthOrder order) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    const Shape shape = x.shape();
    if (shape.rank() != 4 || !is_block(block) || !divides(block * block, shape[1])) {
      return refuse_blocks(composite, x, block, "rank 4 (n, c, h, w) and a block whose square divides c");
    }
    const SizeExpr channels = floor_div(shape[1], block * block);
    const bool is_block_first = order == DepthOrder::kBlockFirst;
    Tensor parts = is_block_first ? reshape(x, {shape[0], block, block, channels, shape[2], shape[3]})
                                  : reshape(x, {shape[0], channels, block, block, shape[2], shape[3]});
    Tensor woven = transpose(parts, is_block_first ? std::vector<std::int64_t>{0, 3, 4, 1, 5, 2}
                                                   : std::vector<std::int64_t>{0, 1, 4, 2, 5, 3});
    return reshape(woven, {shape[0], channels, shape[2] * block, shape[3] * block});
  });
}

Tensor space_to_depth(Tensor x, std::int64_t block) {
  return build_composite({x}, [&](Composite& composite) -> Tensor {
    const Shape shape = x.shape();
    if (shape.rank() != 4 || !is_block(block) || !divides(block, shape[2]) || !divides(block, shape[3])) {
      return refuse_blocks(composite, x, block, "rank 4 (n, c, h, w) and a block that divides h and w");
    }
    const SizeExpr h = floor_div(shape[2], block), w = floor_div(shape[3], block);
    Tensor parts = reshape(x, {shape[0], shape[1], h, block, w, block});
    return reshape(transpose(parts, {0, 3, 5, 1, 2, 4}), {shape[0], shape[1] * (block * block), h, w});
  });
}

}  // namespace millrace
