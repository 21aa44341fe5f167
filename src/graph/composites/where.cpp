// SPDX-License-Identifier: Apache-2.0
// select with NumPy's broadcasting.
#include "graph/composites/composite.h"
#include "ops/infer.h"

namespace millrace {

Tensor where(Tensor condition, Tensor if_true, Tensor if_false) try {
  const CompositeGuard guard("where", {condition, if_true, if_false});
  if (!guard.is_open() || !guard.passes(ops::expect_dtype(guard.types(), 0, ops::kBoolOnly))) return {};
  if (if_true.dtype() != if_false.dtype()) {
    return refuse(*condition.builder(), "where",
                  fmt::format("operand 2 is {}, expected {} like operand 1; insert a cast", if_false.type().to_text(),
                              to_text(if_true.dtype())));
  }
  const Shape shapes[] = {condition.shape(), if_true.shape(), if_false.shape()};
  const std::optional<Shape> joint = joint_shape(shapes);
  if (!joint) {
    return refuse(*condition.builder(), "where",
                  fmt::format("operands are {}, {} and {}, expected dims that are equal or 1, from the last one on; "
                              "reshape or broadcast one",
                              condition.type().to_text(), if_true.type().to_text(), if_false.type().to_text()));
  }
  Tensor choice = broadcast_to(condition, *joint);
  Tensor chosen = broadcast_to(if_true, *joint);
  return select(choice, chosen, broadcast_to(if_false, *joint));
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({condition, if_true, if_false}), "where");
}

Tensor where(Tensor condition, Tensor if_true, Literal if_false) try {
  const CompositeGuard guard("where", {condition, if_true});
  return guard.is_open() ? where(condition, if_true, like("where", if_true, if_false)) : Tensor();
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({condition, if_true}), "where");
}

Tensor where(Tensor condition, Literal if_true, Tensor if_false) try {
  const CompositeGuard guard("where", {condition, if_false});
  return guard.is_open() ? where(condition, like("where", if_false, if_true), if_false) : Tensor();
} catch (const std::bad_alloc&) {
  return fail_without_memory(builder_of({condition, if_false}), "where");
}

}  // namespace millrace
