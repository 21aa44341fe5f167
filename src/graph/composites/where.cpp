// SPDX-License-Identifier: Apache-2.0
#include "graph/composites/composite.h"

namespace millrace {

Tensor where(Tensor condition, Tensor if_true, Tensor if_false) try {
  GraphBuilder* builder = builder_of({condition, if_true, if_false});
  if (builder == nullptr) return {};
  if (!condition.is_valid() || !if_true.is_valid() || !if_false.is_valid()) return select(condition, if_true, if_false);
  const Shape shapes[] = {condition.shape(), if_true.shape(), if_false.shape()};
  const std::optional<Shape> joint = joint_shape(shapes);
  if (!joint) {
    return refuse(*builder, "where",
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

}  // namespace millrace
