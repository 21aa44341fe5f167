// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random/check_random_graph.h"

#include <fmt/format.h>

#include "millrace/graph/text.h"
#include "tests/support/graphs/check_graph.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/graphs/shrink_graph.h"
#include "tests/support/random/random_graph.h"

namespace millrace::test {
namespace {

/// What is wrong with the graph under one of its bindings, or nothing.
std::string find_mistake(const Graph& graph, const std::vector<SymbolValues>& bindings, const CompileOptions& options,
                         std::uint64_t seed, ElementTally* tally = nullptr) {
  const std::string text = to_text(graph);
  const Result<Graph> parsed = parse_graph(text);
  if (!parsed.ok()) return parsed.status().message();
  if (to_text(*parsed) != text) return "reads back as\n" + to_text(*parsed);
  for (const SymbolValues& values : bindings) {
    std::string wrong = check_graph(*parsed, values, options, seed, tally);
    if (wrong.empty()) continue;
    for (const auto& [name, value] : values) wrong += fmt::format(" {} = {}", name, value);
    return wrong;
  }
  return "";
}

}  // namespace

std::string report_mistake(const Graph& graph, const std::function<std::string(const Graph&)>& find_mistake) {
  const std::string wrong = find_mistake(graph);
  if (wrong.empty()) return "";
  const Graph smallest = shrink_graph(graph, [&](const Graph& smaller) { return !find_mistake(smaller).empty(); });
  return fmt::format("{}\nsmallest:\n{}{}\n", wrong, to_text(smallest), find_mistake(smallest));
}

std::string check_random_graph(std::uint64_t seed, const RandomGraphRun& run, ElementTally* tally) {
  const RandomGraph random = make_random_graph(seed, run.size);
  std::vector<CompileOptions> ways = every_way_to_compile();
  ways.pop_back();  // the interpreter: every graph is compared with it
  if (!run.device.empty()) {
    ways.resize(1);
    ways[0].device = run.device;
    if (run.device.starts_with("isa:")) ways[0].context = isa_context();
  }
  for (const CompileOptions& options : ways) {
    const std::string report = report_mistake(
        random.graph, [&](const Graph& graph) { return find_mistake(graph, random.bindings, options, seed, tally); });
    if (!report.empty()) return fmt::format("seed {} on {}: {}", seed, to_text(options), report);
  }
  return "";
}

}  // namespace millrace::test
