// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/import/onnx/node_context.h"

namespace millrace {

/// The shape in which operand 1 broadcasts to operand 0 as NumPy does: its own from version 7 on. Before version 7,
/// operand 1 must have the dims of operand 0. With the attribute `broadcast`, it may also have one element, or the dims
/// of operand 0 from the attribute `axis` on; without `axis`, the last dims. Fails otherwise.
Result<Shape> broadcast_shape(OnnxNodeContext& node);

/// Operand 1 in that shape.
Result<Tensor> right_operand(OnnxNodeContext& node);

}  // namespace millrace
