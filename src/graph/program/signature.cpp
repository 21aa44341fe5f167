// SPDX-License-Identifier: Apache-2.0
#include "millrace/graph/signature.h"

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/program/signature_state.h"

namespace millrace {

Result<Signature::State> Signature::State::of(const Graph& graph) {
  State state;
  MILLRACE_TRY_ASSIGN(state.symbols, make_symbol_table(graph));
  for (const NodeId id : graph.inputs) {
    state.inputs.push_back({std::get<InputNode>(graph.nodes[id].what).name, graph.type({id, 0})});
  }
  for (const GraphOutput& output : graph.outputs) state.outputs.push_back({output.name, graph.type(output.value)});
  for (const ProgramSymbol& symbol : state.symbols.symbols) {
    if (!symbol.input && !is_pinned(symbol.dim)) state.named_dims.push_back(symbol.dim);
  }
  return state;
}

Result<std::vector<TensorType>> Signature::State::output_types(std::span<const Extents> extents,
                                                               std::span<const DimBinding> dims) const {
  if (extents.size() != inputs.size()) {
    return invalid_argument(
        fmt::format("extents of {} inputs given, expected {}; give each input's", extents.size(), inputs.size()));
  }
  SymbolValues values;
  MILLRACE_TRY(bind_symbols(symbols, inputs, extents, dims, values));
  std::vector<TensorType> types;
  for (const Argument& output : outputs) {
    MILLRACE_TRY_ASSIGN(TensorType type, bind_type(output.type, values));
    types.push_back(std::move(type));
  }
  return types;
}

Result<Signature> Signature::of(const Graph& graph) {
  return guard_allocations("signature", [&]() -> Result<Signature> {
    MILLRACE_TRY_ASSIGN(State state, State::of(graph));
    return Signature(std::make_shared<const State>(std::move(state)));
  });
}

const std::vector<Argument>& Signature::inputs() const { return state_->inputs; }
const std::vector<Argument>& Signature::outputs() const { return state_->outputs; }
const std::vector<Dim>& Signature::named_dims() const { return state_->named_dims; }

Result<std::vector<TensorType>> Signature::output_types(std::span<const Extents> inputs,
                                                        std::span<const DimBinding> dims) const {
  return guard_allocations("output types",
                           [&]() -> Result<std::vector<TensorType>> { return state_->output_types(inputs, dims); });
}

}  // namespace millrace
