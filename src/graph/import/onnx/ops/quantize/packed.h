// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/import/onnx/node_context.h"

namespace millrace {

/// The operand as a tensor. Constants of 4-bit and 2-bit integers stay packed: the graph unpacks them to i8 or u8.
/// Those of 8-bit floats become f32.
Result<Tensor> quantized_tensor(OnnxNodeContext& node, std::size_t operand);

}  // namespace millrace
