// SPDX-License-Identifier: Apache-2.0
// select with NumPy's broadcasting.
#include "graph/composites/composite.h"
#include "ops/infer.h"

namespace millrace {

Tensor where(Tensor condition, Tensor if_true, Tensor if_false) {
  return build_composite({condition, if_true, if_false}, [&](Composite& composite) -> Tensor {
    if (!composite.passes(ops::expect_dtype(composite.types(), 0, ops::kBoolOnly))) return {};
    if (if_true.dtype() != if_false.dtype()) {
      return composite.refuse(fmt::format("operand 2 is {}, expected {} like operand 1; insert a cast",
                                          if_false.type().to_text(), to_text(if_true.dtype())));
    }
    const Shape shapes[] = {condition.shape(), if_true.shape(), if_false.shape()};
    const std::optional<Shape> joint = joint_shape(shapes);
    if (!joint) {
      return composite.refuse(
          fmt::format("operands are {}, {} and {}, expected dims that are equal or 1, aligned at the last; reshape or "
                      "broadcast one",
                      condition.type().to_text(), if_true.type().to_text(), if_false.type().to_text()));
    }
    Tensor choice = broadcast_to(condition, *joint);
    Tensor chosen = broadcast_to(if_true, *joint);
    return select(choice, chosen, broadcast_to(if_false, *joint));
  });
}

Tensor where(Tensor condition, Tensor if_true, Literal if_false) {
  return build_composite({condition, if_true}, [&](Composite& composite) -> Tensor {
    return where(condition, if_true, full_like(composite.name(), if_true, if_false));
  });
}

Tensor where(Tensor condition, Literal if_true, Tensor if_false) {
  return build_composite({condition, if_false}, [&](Composite& composite) -> Tensor {
    return where(condition, full_like(composite.name(), if_false, if_true), if_false);
  });
}

}  // namespace millrace
