// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "millrace/base/callback.h"
#include "millrace/graph/graph.h"

namespace millrace {

/// Computes nodes whose operands are all constants: elementwise nodes of at most 64 Ki elements through HostEval;
/// transposes, slices and reshapes by copying, if the result has at most 64 Ki elements or no more than the operand.
/// Does not fold broadcasts: they cost nothing. O(elements). Idempotent.
Status fold_constants(Graph&);

/// Merges nodes with equal ops, attributes and operands; constants are compared by content. Why here: after folding, so
/// that equal folded constants merge. O(nodes). Idempotent.
Status merge_equal_nodes(Graph&);

/// Applies the rules of simplify_rules.inc and node_rules.cpp until none matches. Every rule preserves results bit
/// for bit, except that a NaN may become another NaN. Replaced nodes stay in the graph, unused. Why here: after
/// folding, which creates the constants that rules match. O(nodes * rules).
Status simplify_algebra(Graph&);

/// Removes nodes that no output needs. Keeps inputs: they are part of the caller's contract. Unused results of the
/// remaining nodes need no removal: lowering reads used_results(). O(nodes). Idempotent.
Status eliminate_dead_nodes(Graph&);

struct UnpreparedConstant;  // compile_report.h

/// Work that depends only on constants, and is therefore done once, when a program is loaded.
struct PreparedConstants {
  /// The graph that does the work. Its output k is the constant with ConstantNode::prepared k. Absent if there is no
  /// work.
  std::optional<Graph> setup;
  std::vector<UnpreparedConstant> unprepared;  // values that each run computes, because they do not fit
};

/// Moves work that depends only on constants out of the graph, as long as the results fit into `max_bytes` in total.
/// Three kinds of work stay. Views stay. Cheap elementwise ops stay if they work on single elements or iotas, or if
/// they read fewer bytes than they produce for an elementwise reader: computing them in the reader costs no more than
/// loading their results. Work that can fail at run time stays, such as a gather whose indices are not known to be in
/// range. Work in the bodies of loops and branches is first moved to the graph around them. Needs: no prepared
/// constants. Leaves: no dead nodes, if it moved any work. Why here: after all other passes, because folded and dead
/// nodes need no preparation, and before form_dispatches, because prepared nodes must not be part of regions. O(nodes *
/// operands).
Result<PreparedConstants> prepare_constants(Graph&, std::uint64_t max_bytes);

struct GraphPass {
  /// Runs on each body, then on the graph around it.
  using Rewrite = Status (*)(Graph&);
  /// Runs only on the outermost graph, with PassOptions::max_prepared_bytes.
  using Prepare = Result<PreparedConstants> (*)(Graph&, std::uint64_t max_bytes);

  std::string_view name;
  std::variant<Rewrite, Prepare> run;
};

/// The passes, in the order in which compile() runs them.
inline constexpr GraphPass kGraphPasses[] = {
    {"fold_constants", fold_constants},
    {"simplify_algebra", simplify_algebra},
    {"merge_equal_nodes", merge_equal_nodes},
    {"eliminate_dead_nodes", eliminate_dead_nodes},
    // Runs only on the outermost graph; the other passes run on bodies too.
    {"prepare_constants", prepare_constants},
};

struct PassReport;  // compile_report.h

struct PassOptions {
  /// Whether run_passes() verifies the graph after each pass. Absent: yes if the library was built with assertions.
  std::optional<bool> verify_each = {};
  /// The maximum size of the values that are computed once, when a program is loaded, and then kept. They depend only
  /// on constants, but are not folded, such as dequantised weights. Each run computes the values that do not fit.
  std::uint64_t max_prepared_bytes = std::uint64_t{256} << 20;
  /// Called after each pass that changed the graph's text, with the pass's name and the graph.
  Callback<std::string_view, const Graph&> dump = {};
};

/// Runs the passes. Only this function verifies, times and dumps. If a pass makes the graph invalid, returns an
/// internal error that names the pass. prepare_constants moves its work to `prepared`; if that is null, the pass moves
/// nothing. Precondition: verify(graph) passed.
Result<std::vector<PassReport>> run_passes(Graph&, std::span<const GraphPass> passes, const PassOptions& = {},
                                           PreparedConstants* prepared = nullptr);

}  // namespace millrace
