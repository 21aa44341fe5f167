// SPDX-License-Identifier: Apache-2.0
// Imports Scan.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "graph/import/onnx/ops/control/body_loop.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/control.inc"
#undef MILLRACE_ONNX_OP

namespace {

/// Version 8 has a batch dim before the scanned one.
constexpr std::int64_t kFirstWithoutBatch = 9;

struct ScanPlan {
  const GraphProto* body = nullptr;
  std::size_t num_states = 0, num_scanned = 0;
  std::vector<std::int64_t> axes;  // of the scanned operands
  std::vector<bool> are_reversed, are_outputs_reversed;
  std::vector<std::int64_t> output_axes;  // as given: a negative one counts from the end
};

/// A list with one entry per operand or output; `count` zeros if the node has none.
Result<std::vector<std::int64_t>> read_list(OnnxNodeContext& node, std::string_view name, std::size_t count) {
  MILLRACE_TRY_ASSIGN(std::optional<std::vector<std::int64_t>> list, node.integers_attribute(name));
  if (!list) return std::vector<std::int64_t>(count, 0);
  if (list->size() == count) return *std::move(list);
  return node.attribute_error(name, fmt::format("has {} entries, expected {}", list->size(), count));
}

Result<std::vector<bool>> read_directions(OnnxNodeContext& node, std::string_view name, std::size_t count) {
  MILLRACE_TRY_ASSIGN(const std::vector<std::int64_t> list, read_list(node, name, count));
  std::vector<bool> flags;
  for (const std::int64_t direction : list) {
    if (direction != 0 && direction != 1) {
      return node.attribute_error(name, fmt::format("found {}, expected 0 or 1", direction));
    }
    flags.push_back(direction == 1);
  }
  return flags;
}

Result<ScanPlan> read_plan(OnnxNodeContext& node, std::size_t num_operands) {
  ScanPlan plan;
  MILLRACE_TRY_ASSIGN(plan.body, node.graph_attribute("body"));
  MILLRACE_TRY_ASSIGN(const std::int64_t scanned, node.integer_attribute("num_scan_inputs"));
  if (scanned < 1 || scanned > static_cast<std::int64_t>(num_operands)) {
    return node.attribute_error("num_scan_inputs", fmt::format("found {}, expected 1 to {}", scanned, num_operands));
  }
  plan.num_scanned = static_cast<std::size_t>(scanned);
  plan.num_states = num_operands - plan.num_scanned;
  if (plan.body->input.size() != num_operands || plan.body->output.size() < plan.num_states) {
    return node.attribute_error(
        "body", fmt::format("has {} inputs and {} outputs, expected {} inputs and at least {} outputs",
                            plan.body->input.size(), plan.body->output.size(), num_operands, plan.num_states));
  }
  const std::size_t num_outputs = plan.body->output.size() - plan.num_states;
  if (node.version() < kFirstWithoutBatch) {
    MILLRACE_TRY_ASSIGN(plan.are_reversed, read_directions(node, "directions", plan.num_scanned));
    plan.axes.assign(plan.num_scanned, 0);
    plan.output_axes.assign(num_outputs, 0);
    plan.are_outputs_reversed.assign(num_outputs, false);
    return plan;
  }
  MILLRACE_TRY_ASSIGN(plan.axes, read_list(node, "scan_input_axes", plan.num_scanned));
  MILLRACE_TRY_ASSIGN(plan.are_reversed, read_directions(node, "scan_input_directions", plan.num_scanned));
  MILLRACE_TRY_ASSIGN(plan.output_axes, read_list(node, "scan_output_axes", num_outputs));
  MILLRACE_TRY_ASSIGN(plan.are_outputs_reversed, read_directions(node, "scan_output_directions", num_outputs));
  return plan;
}

/// The outputs of all steps, with the axis of the steps moved to where scan_output_axes puts it.
Result<Tensor> place_output(OnnxNodeContext& node, const ScanPlan& plan, std::size_t k, Tensor output) {
  MILLRACE_TRY_ASSIGN(output, node.built(plan.are_outputs_reversed[k] ? flip(output, {0}) : output));
  const std::size_t rank = output.shape().rank();
  const std::optional<std::int64_t> axis = find_axis(plan.output_axes[k], rank);
  if (!axis) {
    return node.attribute_error("scan_output_axes", fmt::format("found {}, expected an axis of a tensor of rank {}",
                                                                plan.output_axes[k], rank));
  }
  std::vector<std::int64_t> permutation(rank - 1);
  std::iota(permutation.begin(), permutation.end(), 1);
  permutation.insert(permutation.begin() + *axis, 0);
  return node.built(transpose(output, std::move(permutation)));
}

/// Scans tensors without a batch dim.
Result<std::vector<OnnxValue>> scan(OnnxNodeContext& node, const ScanPlan& plan, std::vector<OnnxValue> states,
                                    std::vector<Tensor> scanned) {
  BodyLoop loop{.attribute = "body", .body = plan.body, .initial = std::move(states)};
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < scanned.size(); ++i) {
    const TensorType type = scanned[i].type();
    const std::optional<std::int64_t> axis = find_axis(plan.axes[i], type.shape.rank());
    if (!axis) {
      return node.attribute_error("scan_input_axes",
                                  fmt::format("found {}, expected an axis of {}", plan.axes[i], type.to_text()));
    }
    axes.push_back(*axis);
    const SizeExpr& extent = type.shape[static_cast<std::size_t>(*axis)];
    if (i == 0) loop.count = extent;
    if (extent != *loop.count) {
      return invalid_argument(
          fmt::format(": scans {} and {} elements, expected equal numbers", loop.count->to_text(), extent.to_text()));
    }
    if (plan.are_reversed[i]) scanned[i] = flip(scanned[i], {*axis});
  }
  loop.inputs = [&](const StepIndex& index, std::vector<OnnxValue> state) -> Result<std::vector<OnnxValue>> {
    for (std::size_t i = 0; i < scanned.size(); ++i) {
      MILLRACE_TRY_ASSIGN(const Tensor element, node.built(element_at(scanned[i], axes[i], index)));
      state.emplace_back(element);
    }
    return state;
  };
  for (std::size_t i = plan.num_states; i < node.num_results(); ++i) loop.wants_outputs |= node.wants(i);
  MILLRACE_TRY_ASSIGN(BodyLoopResults results, import_body_loop(node, std::move(loop)));
  std::vector<OnnxValue> all = std::move(results.state);
  for (std::size_t k = 0; k < results.outputs.size(); ++k) {
    MILLRACE_TRY_ASSIGN(const Tensor output, place_output(node, plan, k, *results.outputs[k].tensor()));
    all.emplace_back(output);
  }
  return all;
}

/// Version 8: each sequence of the batch is scanned by itself. Operand 0 gives the sequences' lengths.
Result<OnnxResults> scan_batch(OnnxNodeContext& node, const ScanPlan& plan) {
  constexpr std::int64_t kMaxBatch = 16;
  if (node.has(0)) return unimplemented(": sequence_lens of version 8 are not supported");
  MILLRACE_TRY_ASSIGN(const std::vector<Tensor> operands, node.tensors(1));
  const Shape& first = operands.back().shape();
  for (const Tensor& operand : operands) {
    const bool fits = first.rank() >= 1 && operand.shape().rank() >= 1 && operand.shape()[0] == first[0];
    if (!fits || !first[0].is_constant() || first[0].constant() < 1 || first[0].constant() > kMaxBatch) {
      return unimplemented(
          fmt::format(": found {}, expected a known batch (dim 0) of 1 to {}", operand.type().to_text(), kMaxBatch));
    }
  }
  std::vector<std::vector<Tensor>> by_result;
  for (std::int64_t b = 0; b < first[0].constant(); ++b) {
    std::vector<OnnxValue> states;
    std::vector<Tensor> scanned;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      MILLRACE_TRY_ASSIGN(const Tensor part, node.built(element_at(operands[i], 0, StepIndex{b})));
      if (i < plan.num_states) states.emplace_back(part);
      if (i >= plan.num_states) scanned.push_back(part);
    }
    MILLRACE_TRY_ASSIGN(const std::vector<OnnxValue> values, scan(node, plan, std::move(states), std::move(scanned)));
    by_result.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      MILLRACE_TRY_ASSIGN(by_result[i].emplace_back(), node.materialize(values[i]));
    }
  }
  std::vector<Tensor> results;
  for (const std::vector<Tensor>& parts : by_result) results.push_back(stack(parts, 0));
  return results;
}

}  // namespace

/// Operands: the state, then the scanned tensors. The body gets the state and one slice of each scanned tensor, and
/// returns the state and outputs.
Result<OnnxResults> import_scan(OnnxNodeContext& node) {
  const bool has_batch = node.version() < kFirstWithoutBatch;
  if (node.num_operands() < (has_batch ? 2 : 1)) return invalid_argument(": has no operands");
  MILLRACE_TRY_ASSIGN(const ScanPlan plan, read_plan(node, node.num_operands() - (has_batch ? 1 : 0)));
  if (has_batch) return scan_batch(node, plan);
  std::vector<OnnxValue> states;
  for (std::size_t i = 0; i < plan.num_states; ++i) {
    if (!node.has(i)) return node.operand_error(i, "is missing, expected a value of the state");
    states.push_back(node.value(i));
  }
  MILLRACE_TRY_ASSIGN(std::vector<Tensor> scanned, node.tensors(plan.num_states));
  MILLRACE_TRY_ASSIGN(std::vector<OnnxValue> values, scan(node, plan, std::move(states), std::move(scanned)));
  return values;
}

}  // namespace millrace
