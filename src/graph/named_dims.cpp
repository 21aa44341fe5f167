// SPDX-License-Identifier: Apache-2.0
// Decides for each symbol whether an input's extent determines it or the caller must bind it by name.
#include "graph/named_dims.h"

#include <fmt/format.h>

#include "graph/infer.h"
#include "millrace/base/saturating.h"

namespace millrace {

Result<DimSources> find_sources(const Graph& graph) {
  DimSources sources;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Shape& shape = graph.type({graph.inputs[i], 0}).shape;
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      std::map<std::string, Dim> symbols;
      MILLRACE_TRY(shape[d].collect_symbols(symbols));
      if (symbols.size() != 1) continue;
      const auto& [name, dim] = *symbols.begin();
      if (shape[d] == SizeExpr(dim)) sources.try_emplace(name, DimSource{i, d});
    }
  }
  return sources;
}

Result<std::map<std::string, Dim>> collect_live_symbols(const Graph& graph) {
  std::map<std::string, Dim> symbols;
  const std::vector<bool> live = live_nodes(graph);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (!live[i]) continue;
    for (const SizeExpr& size : sizes_of(graph.nodes[NodeId{i}])) MILLRACE_TRY(size.collect_symbols(symbols));
  }
  MILLRACE_TRY_ASSIGN(const DimSources sources, find_sources(graph));
  for (const auto& [name, dim] : symbols) {
    if (dim.max() < saturating::kMax || sources.contains(name)) continue;
    return invalid_argument(
        fmt::format("dim '{0}' has no upper bound, expected one, as it is not the extent of any input; promise one: "
                    "'{0} in {1}..N' in text, at_most(N) in C++",
                    name, dim.min()));
  }
  return symbols;
}

}  // namespace millrace
