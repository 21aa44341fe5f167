// SPDX-License-Identifier: Apache-2.0
// The last pass: removes the nodes that other passes left without a reader.
#include "base/guard_allocations.h"
#include "graph/passes/rewriter.h"
#include "millrace/graph/passes.h"

namespace millrace {

Status eliminate_dead_nodes(Graph& graph) {
  return guard_allocations([&]() -> Status {
    const std::vector<bool> live = live_nodes(graph);
    GraphRewriter rewriter(graph);
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
      if (live[i]) rewriter.copy(NodeId{i});
    }
    graph = rewriter.finish();
    return {};
  });
}

}  // namespace millrace
