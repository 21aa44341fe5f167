// SPDX-License-Identifier: Apache-2.0
#include "tests/support/graphs/reference_graph.h"

#include <cmath>
#include <random>

#include "tests/reference/evaluate.h"

namespace millrace {

std::vector<reference::Tensor> evaluate_graph(const Graph& graph, std::span<const reference::Tensor> inputs) {
  std::map<std::string, reference::Tensor> no_state;
  return evaluate_graph(graph, inputs, no_state);
}

std::vector<reference::Tensor> evaluate_graph(const Graph& graph, std::span<const reference::Tensor> inputs,
                                              std::map<std::string, reference::Tensor>& state) {
  IdVector<NodeId, std::vector<reference::Tensor>> values;
  for (const Node& node : graph.nodes) {
    std::vector<reference::Tensor> results;
    if (std::holds_alternative<InputNode>(node.what)) {
      std::size_t number = 0;
      while (index_of(graph.inputs[number]) != values.size()) ++number;
      results = {inputs[number]};
    } else if (const auto* variable = std::get_if<VariableNode>(&node.what)) {
      results = {state.at(variable->name)};
    } else if (const auto* constant = std::get_if<ConstantNode>(&node.what)) {
      reference::Tensor tensor(node.results[0]);
      tensor.bytes.assign(constant->data.begin(), constant->data.end());
      results = {std::move(tensor)};
    } else {
      const auto& op = std::get<OpNode>(node.what);
      std::vector<reference::Tensor> operands;
      for (const Value& operand : node.operands) operands.push_back(values[operand.node][operand.result]);
      results = reference::evaluate(op.op, op.attributes, operands);
    }
    values.push_back(std::move(results));
  }
  std::vector<reference::Tensor> outputs;
  for (const GraphOutput& output : graph.outputs) outputs.push_back(values[output.value.node][output.value.result]);
  for (const auto& [variable, value] : graph.updates) {
    state[std::get<VariableNode>(graph.nodes[variable].what).name] = values[value.node][value.result];
  }
  return outputs;
}

namespace {
struct SizeBinder {
  const SymbolValues& values;
  void operator()(std::string_view, SizeExpr& size) const { size = *size.evaluate(values); }
  void operator()(std::string_view, std::vector<SizeExpr>& sizes) const {
    for (SizeExpr& size : sizes) size = *size.evaluate(values);
  }
  template <class T>
  void operator()(std::string_view, const T&) const {}
};
}  // namespace

Graph bind_graph(const Graph& graph, const SymbolValues& values) {
  Graph bound = graph;
  for (Node& node : bound.nodes) {
    if (auto* op = std::get_if<OpNode>(&node.what)) {
      std::visit([&](auto& attributes) { attributes.visit(SizeBinder{values}); }, op->attributes);
    }
    for (TensorType& type : node.results) {
      for (std::size_t d = 0; d < type.shape.rank(); ++d) type.shape[d] = *type.shape[d].evaluate(values);
    }
  }
  return bound;
}

reference::Tensor random_tensor(TensorType type, double low, double high, std::uint64_t seed) {
  reference::Tensor tensor(std::move(type));
  std::mt19937_64 random(seed);
  for (std::int64_t i = 0; i < tensor.num_elements(); ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    const double value = low + (high - low) * unit;
    const DType dtype = tensor.type.dtype;
    if (is_float(dtype)) {
      reference::write_element(dtype, value, tensor.element(i));
    } else {
      reference::write_element(dtype, static_cast<std::int64_t>(dtype == DType::kBool ? value > 0 : std::floor(value)),
                               tensor.element(i));
    }
  }
  return tensor;
}

}  // namespace millrace
