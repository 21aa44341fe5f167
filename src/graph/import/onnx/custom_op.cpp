// SPDX-License-Identifier: Apache-2.0
// Imports nodes of ops that the caller defines.
#include "graph/import/onnx/custom_op.h"

#include <fmt/format.h>

namespace millrace {

Result<OnnxResults> import_custom_op(OnnxNodeContext& node, const OnnxCustomOp& op) {
  OnnxCustomNode custom{std::string(node.name()), {}, {}, node.num_results()};
  for (std::size_t i = 0; i < node.num_operands(); ++i) {
    MILLRACE_TRY_ASSIGN(custom.operands.emplace_back(), node.optional_tensor(i));
  }
  MILLRACE_TRY_ASSIGN(custom.attributes, node.all_attributes());
  Result<std::vector<Tensor>> results = op.build(node.graph(), custom);
  if (!results.ok()) return Status(results.status().code(), ": " + results.status().message());
  if (results->size() <= node.num_results()) return OnnxResults(*results);
  return invalid_argument(
      fmt::format(": the custom op returns {} results, but the node has {}", results->size(), node.num_results()));
}

}  // namespace millrace
