// SPDX-License-Identifier: Apache-2.0
// NumPy's matmul, as one dot with batch dims.
#include <numeric>

#include "graph/composites/composite.h"
#include "ops/infer.h"

namespace millrace {
namespace {

/// The dims before the last two.
Shape batch_of(const Shape& shape) {
  return Shape(std::vector<SizeExpr>(shape.dims().begin(), shape.dims().end() - 2));
}

Tensor spread_batch(Tensor x, const Shape& batch) {
  if (batch_of(x.shape()) == batch) return x;
  std::vector<SizeExpr> dims = batch.dims();
  dims.insert(dims.end(), x.shape().dims().end() - 2, x.shape().dims().end());
  return broadcast_to(x, Shape(std::move(dims)));
}

}  // namespace

Tensor matmul(Tensor x, Tensor y) {
  return build_composite({x, y}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kArithmetic))) return {};
    if (x.dtype() != y.dtype()) {
      return composite.refuse(fmt::format("operand 1 is {}, expected {} like operand 0; insert a cast",
                                          y.type().to_text(), to_text(x.dtype())));
    }
    GraphBuilder* builder = x.builder();
    const auto x_rank = static_cast<std::int64_t>(x.shape().rank()),
               y_rank = static_cast<std::int64_t>(y.shape().rank());
    if (x_rank == 0 || y_rank == 0) {
      return composite.refuse(
          fmt::format("operands are {} and {}, expected at least a vector on each side; use * to multiply by a scalar",
                      x.type().to_text(), y.type().to_text()));
    }
    DotAttrs attributes;
    attributes.x_contract = {x_rank - 1};
    attributes.y_contract = {std::max<std::int64_t>(y_rank - 2, 0)};
    // If y has no batch dims, or x is a vector, a dot without batch dims suffices.
    if (y_rank <= 2 || x_rank == 1) return builder->op1(Op::dot, {x, y}, std::move(attributes));
    const Shape batches[] = {batch_of(x.shape()), batch_of(y.shape())};
    const std::optional<Shape> batch = joint_shape(batches);
    if (!batch) {
      return composite.refuse(
          fmt::format("operands are {} and {}, expected batch dims that are equal or 1, aligned at the last; reshape "
                      "or broadcast one",
                      x.type().to_text(), y.type().to_text()));
    }
    const SizeExpr columns = x.shape().dims().back(), rows = y.shape()[static_cast<std::size_t>(y_rank - 2)];
    if (columns != rows) {
      return composite.refuse(
          fmt::format("operand 1 is {}, expected extent {} in dim {} like dim {} of operand 0, {}; transpose or "
                      "reshape one of them",
                      y.type().to_text(), columns.to_text(), y_rank - 2, x_rank - 1, x.type().to_text()));
    }
    x = spread_batch(x, *batch);
    y = spread_batch(y, *batch);
    if (!x.is_valid() || !y.is_valid()) return {};
    const auto rank = static_cast<std::int64_t>(batch->rank());
    attributes.x_batch.resize(batch->rank());
    std::iota(attributes.x_batch.begin(), attributes.x_batch.end(), 0);
    attributes.y_batch = attributes.x_batch;
    attributes.x_contract = {rank + 1};
    attributes.y_contract = {rank};
    return builder->op1(Op::dot, {x, y}, std::move(attributes));
  });
}

}  // namespace millrace
