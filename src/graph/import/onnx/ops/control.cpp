// SPDX-License-Identifier: Apache-2.0
// Imports ops that contain graphs.
#include <fmt/format.h>

#include "graph/import/onnx/node_context.h"
#include "millrace/graph/functions.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/control.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// The outputs of a branch as tensors, one per result of the node.
Result<std::vector<Tensor>> import_tensors(OnnxNodeContext& node, Result<std::vector<OnnxValue>> values) {
  if (!values.ok()) return values.status();
  if (values->size() != node.num_results()) {
    return invalid_argument(
        fmt::format(": a branch has {} outputs, but the node has {} results", values->size(), node.num_results()));
  }
  std::vector<Tensor> tensors;
  for (const OnnxValue& value : *values) {
    MILLRACE_TRY_ASSIGN(tensors.emplace_back(), node.materialize(value));
  }
  return tensors;
}

}  // namespace

/// If the condition is known, only the branch that it selects is imported.
Result<OnnxResults> import_if(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const GraphProto* then_branch, node.graph_attribute("then_branch"));
  MILLRACE_TRY_ASSIGN(const GraphProto* else_branch, node.graph_attribute("else_branch"));
  const auto import_branch = [&](bool is_then) {
    return node.import_body(is_then ? "then_branch" : "else_branch", is_then ? *then_branch : *else_branch, {});
  };
  MILLRACE_TRY_ASSIGN(const std::optional<OnnxConstant> known, node.known(0));
  if (known && known->type.shape.num_elements().is(1)) {
    MILLRACE_TRY_ASSIGN(std::vector<OnnxValue> values, import_branch(numbers_of(*known)[0] != 0));
    return values;
  }
  MILLRACE_TRY_ASSIGN(Tensor condition, node.tensor(0));
  if (condition.shape().rank() != 0) condition = reshape(condition, {});
  Status status;
  const auto build_branch = [&](bool is_then) {
    Result<std::vector<Tensor>> tensors = import_tensors(node, import_branch(is_then));
    if (tensors.ok() && status.ok()) return *std::move(tensors);
    if (status.ok()) status = tensors.status();
    // The builder needs results to close the branch; the node still fails.
    return std::vector<Tensor>(node.num_results(), node.graph().fill(DType::kF32, {}, 0));
  };
  const std::vector<Tensor> results =
      node.graph().if_else(condition, [&] { return build_branch(true); }, [&] { return build_branch(false); });
  MILLRACE_TRY(status);
  return results;
}

}  // namespace millrace
