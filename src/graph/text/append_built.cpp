// SPDX-License-Identifier: Apache-2.0
// Lets the parser call the C++ functions that build nodes, so that a text and a program build the same graph.
#include "graph/text/append_built.h"

#include <fmt/format.h>

namespace millrace {
namespace {

/// Appends the nodes of the builder's graph to `graph`. `operands` replace the inputs of the builder's graph.
std::vector<Value> append_nodes(Graph& graph, const GraphBuilder& builder, std::span<const Value> operands,
                                std::span<const Tensor> results) {
  IdVector<NodeId, NodeId> moved;
  const auto value_of = [&](Value value) {
    const std::size_t index = index_of(value.node);
    return index < operands.size() ? operands[index] : Value{moved[value.node], value.result};
  };
  const IdVector<NodeId, Node>& nodes = builder.graph().nodes;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    moved.push_back(NodeId(graph.nodes.size()));
    if (i < operands.size() || builder.is_in_body(NodeId{i})) continue;
    Node copy = nodes[NodeId{i}];
    for (Value& operand : copy.operands) operand = value_of(operand);
    graph.nodes.push_back(std::move(copy));
  }
  std::vector<Value> values;
  for (const Tensor& result : results) values.push_back(value_of(result.value()));
  return values;
}

}  // namespace

Status OperationPlace::refuse(std::string_view problem) const {
  return text.error(begin, fmt::format("{}: {}", name, problem));
}

Result<std::vector<Value>> append_built(Graph& graph, const CallOperands& operands, const OperationPlace& place,
                                        const BuildResults& build) {
  GraphBuilder builder;
  const GraphBuilder::OpenFunction function(builder, place.name);
  std::vector<TensorOrNumber> inputs;
  for (std::size_t i = 0; i < operands.values.size(); ++i) {
    const TensorType& type = graph.type(operands.values[i]);
    inputs.emplace_back(builder.input(fmt::format("{}", i), type.dtype, type.shape));
  }
  if (operands.number) {
    inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(operands.number_position), *operands.number);
  }
  MILLRACE_TRY_ASSIGN(const std::vector<Tensor> results, build(inputs));
  if (const Status& status = builder.status(); !status.ok()) {
    return Status(status.code(), place.text.error(place.begin, status.message()).message());
  }
  return append_nodes(graph, builder, operands.values, results);
}

}  // namespace millrace
