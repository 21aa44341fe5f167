// SPDX-License-Identifier: Apache-2.0
// Derives from a graph what callers bind: arguments, named dims, and the requirements that each run checks.
#include "graph/compile/make_signature.h"

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/infer.h"
#include "graph/named_dims.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

Status add_requirements(const Graph& graph, NodeId id, SymbolTable& table) {
  const Node& node = graph.nodes[id];
  std::vector<TensorType> operands;
  for (const Value& operand : node.operands) operands.push_back(graph.type(operand));
  MILLRACE_TRY_ASSIGN(Inference inferred, infer_node(node, operands));
  for (SizeRequirement& requirement : inferred.requirements) {
    table.requirements.push_back({caller_text(graph, id), std::move(requirement)});
  }
  return {};
}

Result<SymbolTable> make_symbol_table(const Graph& graph) {
  SymbolTable table;
  MILLRACE_TRY_ASSIGN(const auto dims, collect_live_symbols(graph));
  const std::vector<bool> live = live_nodes(graph);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (live[i]) MILLRACE_TRY(add_requirements(graph, NodeId{i}, table));
  }
  MILLRACE_TRY_ASSIGN(const DimSources sources, find_sources(graph));
  for (const auto& [name, dim] : dims) {
    const auto source = sources.find(name);
    table.symbols.push_back(source != sources.end() ? ProgramSymbol{dim, source->second.input, source->second.axis}
                                                    : ProgramSymbol{dim, {}, 0});
  }
  return table;
}

}  // namespace

Result<Signature::State> make_signature(const Graph& graph) {
  Signature::State state;
  MILLRACE_TRY_ASSIGN(state.symbols, make_symbol_table(graph));
  for (const NodeId id : graph.inputs) {
    state.inputs.push_back({std::get<InputNode>(graph.nodes[id].what).name, graph.type({id, 0})});
  }
  for (const GraphOutput& output : graph.outputs) state.outputs.push_back({output.name, graph.type(output.value)});
  for (const NodeId id : variables_of(graph)) {
    state.variables.push_back({*source_name(graph.nodes[id]), graph.type({id, 0})});
  }
  for (const ProgramSymbol& symbol : state.symbols.symbols) {
    if (!symbol.input && !is_pinned(symbol.dim)) state.named_dims.push_back(symbol.dim);
  }
  return state;
}

Result<Signature> Signature::of(const Graph& graph) {
  return guard_allocations([&]() -> Result<Signature> {
    MILLRACE_TRY_ASSIGN(State state, make_signature(graph));
    return Signature(std::make_shared<const State>(std::move(state)));
  });
}

}  // namespace millrace
