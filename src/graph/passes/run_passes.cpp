// SPDX-License-Identifier: Apache-2.0
// Runs a list of passes, and verifies, times and dumps the graph after each.
#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/verification.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/passes.h"
#include "millrace/graph/text.h"

namespace millrace {
namespace {

/// Runs on bodies first: a value that a body no longer reads may become unused in the graph around it.
Status run_on_all(GraphPass::Rewrite rewrite, Graph& graph) {
  for (Node& node : graph.nodes) {
    for (std::shared_ptr<const Graph>* body : bodies_of(node)) {
      auto rewritten = std::make_shared<Graph>(**body);
      MILLRACE_TRY(run_on_all(rewrite, *rewritten));
      *body = std::move(rewritten);
    }
  }
  return rewrite(graph);
}

Status run_pass(const GraphPass& pass, Graph& graph, const PassOptions& options, PreparedConstants* prepared) {
  if (const auto* rewrite = std::get_if<GraphPass::Rewrite>(&pass.run)) return run_on_all(*rewrite, graph);
  if (prepared == nullptr) return {};
  MILLRACE_TRY_ASSIGN(*prepared, std::get<GraphPass::Prepare>(pass.run)(graph, options.max_prepared_bytes));
  return {};
}

/// Verifies the graph, and the setup that the pass took out of it.
Status verify_after(const GraphPass& pass, const Graph& graph, const PreparedConstants* prepared) {
  Status status = unguarded(verify(graph));
  const bool has_setup = prepared != nullptr && prepared->setup && std::holds_alternative<GraphPass::Prepare>(pass.run);
  if (status.ok() && has_setup) status = unguarded(verify(*prepared->setup));
  if (status.ok()) return status;
  return internal_error(fmt::format("pass {} left a broken graph: {}", pass.name, status.message()));
}

}  // namespace

Result<std::vector<PassReport>> run_passes(Graph& graph, std::span<const GraphPass> passes, const PassOptions& options,
                                           PreparedConstants* prepared) {
  return guard_allocations([&]() -> Result<std::vector<PassReport>> {
    std::vector<PassReport> reports;
    for (const GraphPass& pass : passes) {
      PassReport report{pass.name, {}, graph.nodes.size(), 0};
      const std::string before = options.dump ? to_text(graph) : std::string();
      const auto start = std::chrono::steady_clock::now();
      MILLRACE_TRY(guard_allocations([&] { return fmt::format("pass {}", pass.name); },
                                     [&] { return run_pass(pass, graph, options, prepared); }));
      report.time = std::chrono::steady_clock::now() - start;
      report.nodes_after = graph.nodes.size();
      reports.push_back(report);
      if (options.verify_each.value_or(kVerifiesSteps)) MILLRACE_TRY(verify_after(pass, graph, prepared));
      if (options.dump && to_text(graph) != before) options.dump(pass.name, graph);
    }
    return reports;
  });
}

}  // namespace millrace
