// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/import/onnx/node_context.h"
#include "millrace/graph/composites.h"

namespace millrace {

using UnaryFunction = Tensor (*)(Tensor);
using BinaryFunction = Tensor (*)(Tensor, Tensor);

Result<OnnxResults> import_unary_by(OnnxNodeContext&, UnaryFunction);
/// Broadcasts as NumPy does. Sizes stay sizes if size_ops.h has the op. Two dims that the model does not declare equal
/// must be equal in every run.
Result<OnnxResults> import_binary_by(OnnxNodeContext&, BinaryFunction);

template <UnaryFunction kFunction>
Result<OnnxResults> import_unary(OnnxNodeContext& node) {
  return import_unary_by(node, kFunction);
}
template <BinaryFunction kFunction>
Result<OnnxResults> import_binary(OnnxNodeContext& node) {
  return import_binary_by(node, kFunction);
}

/// The result if both operands are sizes and the op can be computed on them; else empty.
std::optional<OnnxResults> import_sizes(OnnxNodeContext& node);

}  // namespace millrace
