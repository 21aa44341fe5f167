// SPDX-License-Identifier: Apache-2.0
#include "graph/infer.h"

#include "millrace/ops/op_def.h"

namespace millrace {

Result<std::vector<TensorType>> infer_node(const Node& node, std::span<const TensorType> operands) {
  if (const auto* op = std::get_if<OpNode>(&node.what)) return infer_types(op->op, operands, op->attributes);
  if (const auto* kernel = std::get_if<KernelNode>(&node.what)) return infer_custom(kernel->kernel, operands);
  return node.results;
}

}  // namespace millrace
