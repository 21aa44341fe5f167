// SPDX-License-Identifier: Apache-2.0
// Repeats the body of a Loop or a Scan: imports it once per step, or once as the body of a loop in the graph.
#include "graph/import/onnx/ops/control/body_loop.h"

#include <algorithm>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/graph/composites.h"

namespace millrace {
namespace {

/// The maximum number of unrolled steps if a loop in the graph is impossible, because a state changes its type or is a
/// sequence.
constexpr std::int64_t kMaxChangingSteps = 256;

/// The condition, if it is known or computed from constants by a few ops.
Result<std::optional<bool>> known_bool(OnnxNodeContext& node, const OnnxValue& value) {
  MILLRACE_TRY_ASSIGN(const std::optional<OnnxConstant> constant, node.known(value));
  if (!constant || !constant->type.shape.num_elements().is(1)) return std::optional<bool>();
  return std::optional(numbers_of(*constant)[0] != 0);
}

class BodyLoopImporter {
 public:
  BodyLoopImporter(OnnxNodeContext& node, BodyLoop loop) : node_(node), loop_(std::move(loop)) {}

  Result<BodyLoopResults> import() {
    const auto is_sequence = [](const OnnxValue& value) { return value.sequence() != nullptr; };
    const bool has_sequence = std::ranges::any_of(loop_.initial, is_sequence);
    if (can_unroll(has_sequence ? kMaxChangingSteps : kMaxUnrolledSteps)) {
      MILLRACE_TRY_ASSIGN(std::optional<BodyLoopResults> results, unroll());
      if (results) return *std::move(results);
    }
    if (loop_.has_condition) {
      MILLRACE_TRY_ASSIGN(const std::optional<bool> condition, known_bool(node_, loop_.initial[0]));
      is_true_at_first_ = condition == true;
      is_condition_fixed_ = is_true_at_first_ && has_limit();
    }
    Result<BodyLoopResults> results = build();
    if (!results.ok() && does_type_change_ && can_unroll(kMaxChangingSteps)) {
      MILLRACE_TRY_ASSIGN(std::optional<BodyLoopResults> unrolled, unroll());
      if (unrolled) return *std::move(unrolled);
    }
    return results;
  }

 private:
  bool has_limit() const { return loop_.count || loop_.max_count.builder() != nullptr; }

  bool can_unroll(std::int64_t max_steps) const {
    return loop_.count && loop_.count->is_constant() && loop_.count->constant() <= max_steps;
  }

  /// The outputs of the body for one step.
  Result<std::vector<OnnxValue>> run(const StepIndex& index, std::vector<OnnxValue> state) {
    MILLRACE_TRY_ASSIGN(std::vector<OnnxValue> inputs, loop_.inputs(index, std::move(state)));
    return node_.import_body(loop_.attribute, *loop_.body, std::move(inputs));
  }

  /// Builds the steps one by one. Empty if a condition is not known, or if outputs are wanted but there are no steps:
  /// then only build() finds the types of the outputs.
  Result<std::optional<BodyLoopResults>> unroll() {
    const std::size_t num_states = loop_.initial.size();
    std::vector<OnnxValue> state = loop_.initial;
    std::vector<std::vector<Tensor>> outputs(loop_.wants_outputs ? loop_.num_outputs() : 0);
    std::int64_t count = 0;
    for (; count < loop_.count->constant(); ++count) {
      if (loop_.has_condition) {
        MILLRACE_TRY_ASSIGN(const std::optional<bool> goes_on, known_bool(node_, state[0]));
        if (!goes_on) return std::optional<BodyLoopResults>();
        if (!*goes_on) break;
      }
      MILLRACE_TRY_ASSIGN(std::vector<OnnxValue> values, run(StepIndex{count}, std::move(state)));
      state.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(num_states));
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        MILLRACE_TRY_ASSIGN(outputs[k].emplace_back(), node_.materialize(values[num_states + k]));
      }
    }
    if (count == 0 && loop_.wants_outputs) return std::optional<BodyLoopResults>();
    BodyLoopResults results{std::move(state), {}};
    for (const std::vector<Tensor>& all : outputs) results.outputs.emplace_back(stack(all, 0));
    return std::optional(std::move(results));
  }

  /// Builds a loop in the graph. The loop needs a tensor for each output from the start, so the body is first built
  /// without outputs, to find their types. Nothing reads the nodes of that first build.
  Result<BodyLoopResults> build() {
    Result<BodyLoopResults> results = build_once({});
    if (results.ok() && is_condition_fixed_ && !stays_true_) {
      is_condition_fixed_ = false;
      results = build_once({});
    }
    if (results.ok() && !has_limit() && is_true_at_first_ && stays_true_) return endless();
    if (!results.ok() || !loop_.wants_outputs) return results;
    if (!loop_.count || (loop_.has_condition && !is_condition_fixed_)) {
      return unimplemented(
          ": how often the body runs is decided at run time, and with it the size of a result; expected a trip count "
          "and a condition that are known when the model is imported");
    }
    const std::vector<TensorType> types = output_types_;
    if (!loop_.count->is(0)) return build_once(types);
    results->state = loop_.initial;
    for (const TensorType& type : types) results->outputs.emplace_back(zero_outputs(node_.graph(), 0, type));
    return results;
  }

  /// Whether the state's value is the same in every step, so that it need not be a tensor.
  bool is_fixed(std::size_t i) const {
    const std::size_t input = loop_.first_state + i;
    return (i == 0 && is_condition_fixed_) || loop_.body->output[i].name == loop_.body->input[input].name;
  }

  /// The value as a tensor of the loop's state. A condition may have one element in any shape.
  Result<Tensor> state_tensor(std::size_t i, const OnnxValue& value) {
    MILLRACE_TRY_ASSIGN(const Tensor tensor, node_.materialize(value));
    return i == 0 && loop_.has_condition ? node_.built(reshape(tensor, {})) : tensor;
  }

  Result<std::vector<Tensor>> first_tensors(std::span<const TensorType> types) {
    std::vector<Tensor> first = {node_.graph().fill(DType::kI64, {}, 0)};
    for (std::size_t i = 0; i < loop_.initial.size(); ++i) {
      if (is_fixed(i)) continue;
      MILLRACE_TRY_ASSIGN(first.emplace_back(), state_tensor(i, loop_.initial[i]));
    }
    for (const TensorType& type : types) first.push_back(zero_outputs(node_.graph(), *loop_.count, type));
    return first;
  }

  /// The tensors of the next step, in the order of first_tensors(). `types` is empty, or has the types of all outputs.
  Result<std::vector<Tensor>> next_tensors(std::span<const Tensor> all, std::span<const TensorType> types) {
    const StepIndex index{0, all[0]};
    std::vector<OnnxValue> state = loop_.initial;
    std::size_t place = 1;
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (!is_fixed(i)) state[i] = all[place++];
    }
    MILLRACE_TRY_ASSIGN(const std::vector<OnnxValue> values, run(index, state));
    if (loop_.has_condition) {
      MILLRACE_TRY_ASSIGN(const std::optional<bool> goes_on, known_bool(node_, values[0]));
      stays_true_ = goes_on == true;
    }
    std::vector<Tensor> next = {all[0] + 1};
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (is_fixed(i)) continue;
      MILLRACE_TRY_ASSIGN(next.emplace_back(), state_tensor(i, values[i]));
      const TensorType &before = all[next.size() - 1].type(), &after = next.back().type();
      if (before == after) continue;
      does_type_change_ = true;
      return unimplemented(fmt::format(": input '{}' of the body is {} and becomes {}, expected one type in all steps",
                                       printable(loop_.body->input[loop_.first_state + i].name), before.to_text(),
                                       after.to_text()));
    }
    output_types_.clear();
    for (std::size_t k = 0; k < loop_.num_outputs() && loop_.wants_outputs; ++k) {
      MILLRACE_TRY_ASSIGN(const Tensor output, node_.materialize(values[state.size() + k]));
      output_types_.push_back(output.type());
      if (!types.empty()) next.push_back(with_output(all[next.size()], output, index));
    }
    return next;
  }

  /// Whether to go on, as a tensor.
  Tensor condition(std::span<const Tensor> all, Tensor limit, Tensor fixed) const {
    Tensor result = limit.builder() != nullptr ? less(all[0], limit) : Tensor();
    if (!loop_.has_condition || is_condition_fixed_) return result;
    const Tensor condition = fixed.builder() != nullptr ? fixed : all[1];
    return result.builder() != nullptr ? logical_and(result, condition) : condition;
  }

  static Status endless() { return unimplemented(": the body runs without end, expected a trip count or a condition"); }

  Result<BodyLoopResults> build_once(std::span<const TensorType> types) {
    GraphBuilder& graph = node_.graph();
    MILLRACE_TRY_ASSIGN(const std::vector<Tensor> first, first_tensors(types));
    const Tensor limit = loop_.count ? size_of(graph, *loop_.count) : loop_.max_count;
    Tensor fixed;
    if (loop_.has_condition && is_fixed(0)) {
      MILLRACE_TRY_ASSIGN(fixed, state_tensor(0, loop_.initial[0]));
    }
    if (!has_limit() && !loop_.has_condition) return endless();
    Status status;
    const auto body = [&](std::span<const Tensor> all) {
      Result<std::vector<Tensor>> next = next_tensors(all, types);
      if (next.ok()) return *std::move(next);
      status = next.status();
      return std::vector<Tensor>(all.begin(), all.end());  // closes the body; the node still fails
    };
    const auto goes_on = [&](std::span<const Tensor> all) { return condition(all, limit, fixed); };
    const std::vector<Tensor> last = graph.while_loop(first, goes_on, body);
    MILLRACE_TRY(status);
    if (last.size() != first.size()) return internal_error(": a loop has no results");
    BodyLoopResults results{loop_.initial, {}};
    std::size_t place = 1;
    for (std::size_t i = 0; i < results.state.size(); ++i) {
      if (!is_fixed(i)) results.state[i] = last[place++];
    }
    for (; place < last.size(); ++place) results.outputs.emplace_back(last[place]);
    return results;
  }

  OnnxNodeContext& node_;
  BodyLoop loop_;
  bool is_true_at_first_ = false;    // the condition is known to be true before the first step
  bool is_condition_fixed_ = false;  // assumed to be true in every step; stays_true_ says whether it is
  bool stays_true_ = true;
  bool does_type_change_ = false;
  std::vector<TensorType> output_types_;
};

}  // namespace

Result<BodyLoopResults> import_body_loop(OnnxNodeContext& node, BodyLoop loop) {
  return BodyLoopImporter(node, std::move(loop)).import();
}

}  // namespace millrace
