// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/import/onnx/node_context.h"

namespace millrace {

/// The shape in which operand 1 broadcasts to operand 0 as NumPy does: its own from version 7 on. Before version 7,
/// operand 1 has the dims of operand 0 or, with the attribute `broadcast`, one element, or a part of those dims that
/// starts at the attribute `axis`: by default, the last dims. Fails if it has neither.
Result<Shape> broadcast_shape(OnnxNodeContext& node);

/// Operand 1 in that shape.
Result<Tensor> right_operand(OnnxNodeContext& node);

}  // namespace millrace
