// SPDX-License-Identifier: Apache-2.0
#include "graph/compile/make_signature.h"

#include <map>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/infer.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

Status add_requirements(const Graph& graph, NodeId id, SymbolTable& table) {
  const Node& node = graph.nodes[id];
  std::vector<TensorType> operands;
  for (const Value& operand : node.operands) operands.push_back(graph.type(operand));
  MILLRACE_TRY_ASSIGN(Inference inferred, infer_node(node, operands));
  for (SizeRequirement& requirement : inferred.requirements) {
    table.requirements.push_back({node_text(graph, id), std::move(requirement)});
  }
  return {};
}

/// For each symbol, by name, the first input dim that is exactly this symbol: the number of the input, and the axis.
using Places = std::map<std::string, std::pair<std::size_t, std::size_t>, std::less<>>;

Result<Places> find_places(const Graph& graph) {
  Places places;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Shape& shape = graph.type({graph.inputs[i], 0}).shape;
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      std::map<std::string, Dim> symbols;
      MILLRACE_TRY(shape[d].collect_symbols(symbols));
      if (symbols.size() != 1) continue;
      const auto& [name, dim] = *symbols.begin();
      if (shape[d] == SizeExpr(dim)) places.try_emplace(name, i, d);
    }
  }
  return places;
}

Result<SymbolTable> make_symbol_table(const Graph& graph) {
  SymbolTable table;
  std::map<std::string, Dim> dims;
  const std::vector<bool> live = live_nodes(graph);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id{i};
    if (!live[i]) continue;
    for (const SizeExpr& size : sizes_of(graph.nodes[id])) MILLRACE_TRY(size.collect_symbols(dims));
    MILLRACE_TRY(add_requirements(graph, id, table));
  }
  MILLRACE_TRY_ASSIGN(const Places places, find_places(graph));
  for (const auto& [name, dim] : dims) {
    ProgramSymbol symbol{dim, {}, 0};
    if (const auto place = places.find(name); place != places.end()) {
      symbol = {dim, place->second.first, place->second.second};
    }
    if (!symbol.input && dim.max() == saturating::kMax) {
      return invalid_argument(
          fmt::format("dim '{0}' is no input's extent, so a run binds it by name, and has no upper bound; promise one: "
                      "'{0} in {1}..N' in text, at_most(N) in C++",
                      name, dim.min()));
    }
    table.symbols.push_back(std::move(symbol));
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
  return guard_allocations("signature", [&]() -> Result<Signature> {
    MILLRACE_TRY_ASSIGN(State state, make_signature(graph));
    return Signature(std::make_shared<const State>(std::move(state)));
  });
}

}  // namespace millrace
