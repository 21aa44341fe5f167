// SPDX-License-Identifier: Apache-2.0
// Runs the steps of a recurrent layer. Both directions run in one loop: the second one's products of x are reversed.
#include "graph/import/onnx/ops/recurrent/recurrence.h"

#include <algorithm>

#include "graph/import/onnx/ops/control/iterate.h"
#include "millrace/graph/composites.h"

namespace millrace {
namespace {

/// x from `begin` to `end` along `axis`.
Tensor part_of(Tensor x, std::size_t axis, const SizeExpr& begin, const SizeExpr& end) {
  if (!x.is_valid()) return {};
  std::vector<SizeExpr> start(x.shape().rank(), 0), stop = x.shape().dims();
  start[axis] = begin;
  stop[axis] = end;
  return slice(x, std::move(start), std::move(stop));
}

/// Reverses x[steps, directions, batch, features] along the steps, each sequence within its length.
Tensor reverse_steps(Tensor x, Tensor lengths) {
  if (lengths.builder() == nullptr) return flip(x, {0});
  if (!x.is_valid()) return {};
  GraphBuilder& graph = *x.builder();
  const Shape shape = x.shape();
  const Tensor step = iota(graph, DType::kI64, {shape[0], shape[2]}, 0);
  const Tensor ends = min(lengths, size_of(graph, shape[0]));
  const Tensor place = where(less(step, ends), ends - step - 1, step);
  return take_along_axis(x, broadcast(place, shape, {0, 2}), 0);
}

/// Reverses the directions that run backwards.
Tensor order_steps(Tensor x, const Recurrence& layer) {
  if (std::ranges::find(layer.are_reversed, true) == layer.are_reversed.end()) return x;
  if (layer.are_reversed.size() == 1) return reverse_steps(x, layer.lengths);
  std::vector<Tensor> parts;
  for (std::size_t d = 0; d < layer.are_reversed.size(); ++d) {
    const auto first = static_cast<std::int64_t>(d);
    const Tensor part = part_of(x, 1, first, first + 1);
    parts.push_back(layer.are_reversed[d] ? reverse_steps(part, layer.lengths) : part);
  }
  return concat(parts, 1);
}

/// [steps, directions, batch, gates * hidden], in the order in which the steps run.
Tensor products_of_x(const Recurrence& layer) {
  const Tensor products = dot(layer.x, layer.weights, {.x_contract = {2}, .y_contract = {2}});
  const Tensor by_direction = transpose(products, {0, 2, 1, 3});
  const bool has_bias = layer.bias.builder() != nullptr;
  return order_steps(has_bias ? by_direction + unsqueeze(layer.bias, {1}) : by_direction, layer);
}

}  // namespace

Tensor gate_columns(Tensor x, const SizeExpr& hidden, std::int64_t first, std::int64_t count) {
  if (!x.is_valid()) return {};
  return part_of(x, x.shape().rank() - 1, hidden * first, hidden * (first + count));
}

Tensor times_transposed(Tensor state, Tensor weights) {
  return dot(state, weights, {.x_batch = {0}, .y_batch = {0}, .x_contract = {2}, .y_contract = {2}});
}

Tensor apply_functions(Tensor x, const std::vector<GateFunction>& functions) {
  const GateFunction& first = functions[0];
  if (std::ranges::count(functions, first) == std::ssize(functions)) return first.apply(x, first.alpha, first.beta);
  std::vector<Tensor> parts;
  for (std::size_t d = 0; d < functions.size(); ++d) {
    const auto begin = static_cast<std::int64_t>(d);
    parts.push_back(functions[d].apply(part_of(x, 0, begin, begin + 1), functions[d].alpha, functions[d].beta));
  }
  return concat(parts, 0);
}

RecurrenceResults run_recurrence(GraphBuilder& graph, const Recurrence& layer) {
  const SizeExpr num_steps = layer.x.shape()[0];
  const bool has_lengths = layer.lengths.builder() != nullptr;
  const Tensor products = products_of_x(layer);
  Tensor are_inside;  // bool [steps, 1, batch, 1]
  if (has_lengths) {
    const SizeExpr batch = layer.x.shape()[1];
    const Tensor step = iota(graph, DType::kI64, {num_steps, batch}, 0);
    are_inside = unsqueeze(less(step, layer.lengths), {1, 3});
  }
  const auto step = [&](const StepIndex& index, std::span<const Tensor> state) {
    std::vector<Tensor> next = layer.cell(element_at(products, 0, index), state);
    Tensor output = next[0];
    if (has_lengths) {
      const Tensor is_inside = element_at(are_inside, 0, index);
      output = where(is_inside, output, 0.0);
      for (std::size_t i = 0; i < next.size(); ++i) next[i] = where(is_inside, next[i], state[i]);
    }
    return StepValues{std::move(next), {output}};
  };
  const TensorType types[] = {layer.initial[0].type()};
  StepValues all = iterate(graph, num_steps, layer.initial, types, step);
  if (has_lengths) {
    const Tensor has_steps = unsqueeze(greater(layer.lengths, 0), {0, 2});
    for (Tensor& state : all.state) state = where(has_steps, state, 0.0);
  }
  return {order_steps(all.outputs[0], layer), std::move(all.state)};
}

}  // namespace millrace
