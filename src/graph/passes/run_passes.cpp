// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/passes.h"
#include "millrace/graph/text.h"

namespace millrace {

Result<std::vector<PassReport>> run_passes(Graph& graph, std::span<const GraphPass> passes,
                                           const PassOptions& options) {
  return guard_allocations("passes", [&]() -> Result<std::vector<PassReport>> {
    std::vector<PassReport> reports;
    for (const GraphPass& pass : passes) {
      PassReport report{pass.name, {}, graph.nodes.size(), 0};
      const std::string before = options.dump ? to_text(graph) : std::string();
      const auto start = std::chrono::steady_clock::now();
      MILLRACE_TRY(
          guard_allocations([&] { return fmt::format("pass {}", pass.name); }, [&] { return pass.run(graph); }));
      report.time = std::chrono::steady_clock::now() - start;
      report.nodes_after = graph.nodes.size();
      reports.push_back(report);
      if (options.verify_each) {
        const Status status = verify(graph);
        if (!status.ok())
          return internal_error(fmt::format("pass {} left a broken graph: {}", pass.name, status.message()));
      }
      if (options.dump && to_text(graph) != before) options.dump(pass.name, graph);
    }
    return reports;
  });
}

}  // namespace millrace
