// SPDX-License-Identifier: Apache-2.0
// How elementwise ops of two operands broadcast before version 7.
#include "graph/import/onnx/ops/old_broadcast.h"

#include <fmt/format.h>

#include "millrace/graph/composites.h"

namespace millrace {
namespace {

/// Whether each part[i] broadcasts to whole[first + i]: both are 1, or neither is, or `repeats` and part[i] is 1.
bool fits(const Shape& part, const Shape& whole, std::size_t first, bool repeats) {
  for (std::size_t i = 0; i < part.rank(); ++i) {
    const bool is_one = part[i].is(1);
    if (is_one != whole[first + i].is(1) && !(is_one && repeats)) return false;
  }
  return true;
}

}  // namespace

Result<Shape> broadcast_shape(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const TensorType right, node.type(1));
  if (node.version() >= 7) return right.shape;
  MILLRACE_TRY_ASSIGN(const TensorType left, node.type(0));
  MILLRACE_TRY_ASSIGN(const bool broadcasts, node.flag_attribute("broadcast", false));
  const std::size_t rank = left.shape.rank(), part_rank = right.shape.rank();
  if (!broadcasts) {
    node.ignore_attribute("axis");
    if (rank == part_rank && fits(right.shape, left.shape, 0, false)) return right.shape;
    return node.operand_error(1, fmt::format("is {}, expected the dims of operand 0, {}, without the attribute "
                                             "'broadcast'",
                                             right.to_text(), left.to_text()));
  }
  if (part_rank > rank) {
    return node.operand_error(
        1, fmt::format("is {}, expected at most the rank of operand 0, {}", right.to_text(), left.to_text()));
  }
  std::int64_t first = static_cast<std::int64_t>(rank - part_rank);
  const std::int64_t last = first;
  MILLRACE_TRY_ASSIGN(first, node.integer_attribute("axis", first));
  if (right.shape.num_elements().is(1)) return right.shape;
  if (first < 0 || first > last) {
    return node.attribute_error(
        "axis", fmt::format("found {}, expected 0 to {} for {} and {}", first, last, left.to_text(), right.to_text()));
  }
  if (!fits(right.shape, left.shape, static_cast<std::size_t>(first), true)) {
    return node.operand_error(1, fmt::format("is {}, expected dims of operand 0, {}, from dim {} on", right.to_text(),
                                             left.to_text(), first));
  }
  std::vector<SizeExpr> dims = right.shape.dims();
  dims.resize(dims.size() + static_cast<std::size_t>(last - first), SizeExpr(1));
  return Shape(std::move(dims));
}

Result<Tensor> right_operand(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Shape shape, broadcast_shape(node));
  MILLRACE_TRY_ASSIGN(const Tensor y, node.tensor(1));
  return y.shape() == shape ? y : node.built(reshape(y, shape));
}

}  // namespace millrace
