// SPDX-License-Identifier: Apache-2.0
// Imports Loop.
#include <algorithm>

#include <fmt/format.h>

#include "graph/import/onnx/ops/control/body_loop.h"
#include "millrace/graph/functions.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/control.inc"
#undef MILLRACE_ONNX_OP

namespace {

OnnxValue true_constant() {
  const bool value = true;
  return constant_of(Shape(), std::span<const bool>(&value, 1));
}

/// The trip count, operand 0: a size if it is known. Exporters write the largest integer for "no limit".
Status read_count(OnnxNodeContext& node, BodyLoop& loop) {
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 62;
  if (!node.has(0)) return {};
  MILLRACE_TRY_ASSIGN(const std::optional<OnnxConstant> known, node.known(0));
  const bool is_known = known || node.value(0).as_sizes();
  if (is_known || loop.wants_outputs) {
    MILLRACE_TRY_ASSIGN(const SizeExpr count, node.size(0));
    if (count.lower_bound() < kNoLimit) loop.count = max(count, 0);
    return {};
  }
  MILLRACE_TRY_ASSIGN(const Tensor count, node.tensor(0));
  MILLRACE_TRY_ASSIGN(loop.max_count, node.built(cast(reshape(count, {}), DType::kI64)));
  return {};
}

/// The condition, operand 1, as state 0. Without it, the condition that the body returns is ignored.
Status read_condition(OnnxNodeContext& node, BodyLoop& loop) {
  loop.has_condition = node.has(1);
  loop.initial.push_back(loop.has_condition ? node.value(1) : true_constant());
  if (!loop.has_condition) return {};
  MILLRACE_TRY_ASSIGN(const std::optional<OnnxConstant> known, node.known(1));
  if (!known || !known->type.shape.num_elements().is(1)) return {};
  loop.initial[0] = *known;
  if (numbers_of(*known)[0] != 0) return {};
  loop.has_condition = false;
  loop.count = 0;
  return {};
}

}  // namespace

/// Operands: trip count, condition, state. The body gets the step, the condition and the state, and returns the
/// condition, the state and outputs.
Result<OnnxResults> import_loop(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const GraphProto* body, node.graph_attribute("body"));
  const std::size_t num_states = std::max<std::size_t>(node.num_operands(), 2) - 2;
  if (body->input.size() != num_states + 2 || body->output.size() < num_states + 1) {
    return node.attribute_error(
        "body", fmt::format("has {} inputs and {} outputs, expected {} inputs and at least {} "
                            "outputs for {} values that the loop carries",
                            body->input.size(), body->output.size(), num_states + 2, num_states + 1, num_states));
  }
  BodyLoop loop{.attribute = "body", .body = body, .first_state = 1};
  for (std::size_t i = num_states; i < node.num_results(); ++i) loop.wants_outputs |= node.wants(i);
  MILLRACE_TRY(read_count(node, loop));
  MILLRACE_TRY(read_condition(node, loop));
  for (std::size_t i = 0; i < num_states; ++i) {
    if (!node.has(2 + i)) return node.operand_error(2 + i, "is missing, expected a value that the loop carries");
    loop.initial.push_back(node.value(2 + i));
  }
  loop.inputs = [](const StepIndex& index, std::vector<OnnxValue> state) -> Result<std::vector<OnnxValue>> {
    const bool is_known = index.tensor.builder() == nullptr;
    state.insert(state.begin(), is_known ? OnnxValue(OnnxSizes::scalar(index.number)) : OnnxValue(index.tensor));
    return state;
  };
  MILLRACE_TRY_ASSIGN(BodyLoopResults results, import_body_loop(node, std::move(loop)));
  std::vector<OnnxValue> all(results.state.begin() + 1, results.state.end());
  all.insert(all.end(), results.outputs.begin(), results.outputs.end());
  return all;
}

}  // namespace millrace
