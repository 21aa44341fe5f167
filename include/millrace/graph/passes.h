// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/callback.h"
#include "millrace/graph/graph.h"

namespace millrace {

/// Computes nodes whose operands are all constants: elementwise ones of at most 64 Ki elements through HostEval;
/// transposes, slices and reshapes no larger than that or their operand by copying. Broadcasts stay: they cost nothing.
/// Leaves: constants in place of them. O(elements). Idempotent.
Status fold_constants(Graph&);

/// One node for equal nodes: same op, attributes and operands. Constants by content.
/// Why here: after folding, so that equal folded constants meet. O(nodes). Idempotent.
Status merge_equal_nodes(Graph&);

/// Rewrites by the rules of simplify_rules.inc and simplify_views.cpp until none applies. Every rule keeps the written
/// semantics bit for bit (a NaN stays a NaN). Leaves the nodes of replaced patterns behind, unused.
/// Why here: after folding, which makes the constants that rules match. O(nodes * rules).
Status simplify_algebra(Graph&);

/// Removes nodes without a used result. Inputs stay: they are the caller's contract.
/// Dead results of nodes that stay need no removal: used_results() is what lowering reads. O(nodes). Idempotent.
Status eliminate_dead_nodes(Graph&);

struct GraphPass {
  std::string_view name;
  Status (*run)(Graph&);
};

/// In the order in which compile() runs them.
inline constexpr GraphPass kGraphPasses[] = {
    {"fold_constants", fold_constants},
    {"simplify_algebra", simplify_algebra},
    {"merge_equal_nodes", merge_equal_nodes},
    {"eliminate_dead_nodes", eliminate_dead_nodes},
};

struct PassReport;  // compile_report.h

struct PassOptions {
  bool verify_each = true;
  /// Called after each pass that changed the text, with its name and the graph.
  Callback<std::string_view, const Graph&> dump = {};
};

/// Runs the passes, and alone verifies, times and dumps. An invalid graph after a pass is our error and names the pass.
Result<std::vector<PassReport>> run_passes(Graph&, std::span<const GraphPass> passes, const PassOptions& = {});

}  // namespace millrace
