// SPDX-License-Identifier: Apache-2.0
// Repeats a step that computes the next state: step by step if there are few, otherwise in a loop.
#include "graph/import/onnx/ops/control/iterate.h"

#include "millrace/graph/composites.h"

namespace millrace {

Tensor element_at(Tensor x, std::int64_t axis, const StepIndex& index) {
  if (!x.is_valid()) return {};
  if (index.tensor.builder() != nullptr) return gather(x, index.tensor, axis);
  const auto dim = static_cast<std::size_t>(axis);
  std::vector<SizeExpr> start(x.shape().rank(), 0), stop = x.shape().dims();
  start[dim] = index.number;
  stop[dim] = index.number + 1;
  return squeeze(slice(x, std::move(start), std::move(stop)), {axis});
}

Tensor zero_outputs(GraphBuilder& graph, const SizeExpr& count, const TensorType& type) {
  std::vector<SizeExpr> dims = type.shape.dims();
  dims.insert(dims.begin(), count);
  return graph.fill(type.dtype, Shape(std::move(dims)), 0);
}

Tensor with_output(Tensor all, Tensor output, const StepIndex& index) {
  return update_slice(all, unsqueeze(output, {0}), 0, index.tensor);
}

namespace {

StepValues unroll(GraphBuilder& graph, std::int64_t count, const std::vector<Tensor>& initial,
                  std::span<const TensorType> types, const StepFunction& step) {
  std::vector<Tensor> state = initial;
  std::vector<std::vector<Tensor>> outputs(types.size());
  for (std::int64_t i = 0; i < count; ++i) {
    StepValues next = step(StepIndex{i}, state);
    state = std::move(next.state);
    for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k].push_back(next.outputs[k]);
  }
  StepValues all{std::move(state), {}};
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    all.outputs.push_back(count == 0 ? zero_outputs(graph, 0, types[k]) : stack(outputs[k], 0));
  }
  return all;
}

}  // namespace

StepValues iterate(GraphBuilder& graph, const SizeExpr& count, const std::vector<Tensor>& initial,
                   std::span<const TensorType> types, const StepFunction& step) {
  if (count.is_constant() && count.constant() <= kMaxUnrolledSteps) {
    return unroll(graph, count.constant(), initial, types, step);
  }
  std::vector<Tensor> first = {graph.fill(DType::kI64, {}, 0)};
  first.insert(first.end(), initial.begin(), initial.end());
  for (const TensorType& type : types) first.push_back(zero_outputs(graph, count, type));
  const Tensor last_index = size_of(graph, count);
  const auto is_inside = [&](std::span<const Tensor> all) { return less(all[0], last_index); };
  const auto body = [&](std::span<const Tensor> all) {
    const StepIndex index{0, all[0]};
    StepValues values = step(index, all.subspan(1, initial.size()));
    std::vector<Tensor> next = {all[0] + 1};
    next.insert(next.end(), values.state.begin(), values.state.end());
    for (std::size_t k = 0; k < types.size(); ++k) {
      next.push_back(with_output(all[1 + initial.size() + k], values.outputs[k], index));
    }
    return next;
  };
  const std::vector<Tensor> last = graph.while_loop(first, is_inside, body);
  if (last.size() != first.size()) return {initial, std::vector<Tensor>(types.size())};  // memory ran out
  const auto outputs = last.begin() + 1 + static_cast<std::ptrdiff_t>(initial.size());
  return {{last.begin() + 1, outputs}, {outputs, last.end()}};
}

}  // namespace millrace
