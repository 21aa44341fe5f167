// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/callback.h"
#include "millrace/graph/graph.h"

namespace millrace {

/// Computes nodes whose operands are all constants: elementwise nodes of at most 64 Ki elements through HostEval;
/// transposes, slices and reshapes by copying, if the result has at most 64 Ki elements or no more than the operand.
/// Leaves broadcasts: they cost nothing. O(elements). Idempotent.
Status fold_constants(Graph&);

/// Merges nodes with equal ops, attributes and operands; constants are compared by content. Why here: after folding, so
/// that equal folded constants merge. O(nodes). Idempotent.
Status merge_equal_nodes(Graph&);

/// Applies the rules of simplify_rules.inc and simplify_views.cpp until none matches. Every rule keeps the defined
/// semantics bit for bit (a NaN stays a NaN). Leaves the replaced nodes behind, unused. Why here: after folding, which
/// creates the constants that rules match. O(nodes * rules).
Status simplify_algebra(Graph&);

/// Removes nodes that no output needs. Keeps inputs: they are part of the caller's contract. Unused results of the
/// remaining nodes need no removal: lowering reads used_results(). O(nodes). Idempotent.
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
  /// Whether run_passes() verifies the graph after each pass. Absent: where the library has assertions.
  std::optional<bool> verify_each = {};
  /// Bytes of values that are computed when a program is loaded, and kept: values that depend on constants alone and
  /// are not folded, such as dequantised weights. Each run computes the rest.
  std::uint64_t max_prepared_bytes = std::uint64_t{256} << 20;
  /// Called after each pass that changed the graph's text, with the pass's name and the graph.
  Callback<std::string_view, const Graph&> dump = {};
};

/// Runs the passes. Only this function verifies, times and dumps. A graph that a pass made invalid is an internal error
/// naming the pass. Precondition: verify(graph) passed.
Result<std::vector<PassReport>> run_passes(Graph&, std::span<const GraphPass> passes, const PassOptions& = {});

}  // namespace millrace
