// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "millrace/graph/compile_report.h"
#include "millrace/graph/dispatch.h"
#include "millrace/millrace.h"

namespace millrace {

/// The graph after every pass, cut into regions.
inline DispatchGraph formed(Graph graph) {
  run_passes(graph, kGraphPasses).value();
  return form_dispatches(std::move(graph)).value();
}
inline DispatchGraph formed(GraphBuilder& builder) { return formed(builder.finish().value()); }

/// One region a line: its kinds of nodes, in order, and how many values it stores.
inline std::string shape_of(const DispatchGraph& dispatch) {
  std::string text;
  for (const Region& region : dispatch.regions) {
    for (NodeId node : region.nodes) text += kind_name(dispatch.graph.nodes[node]) + " ";
    text += "-> " + std::to_string(region.outputs.size()) + "\n";
  }
  return text;
}

}  // namespace millrace
