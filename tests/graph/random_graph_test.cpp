// SPDX-License-Identifier: Apache-2.0
// Random valid graphs, printed, read back, compiled and run at several sizes, against the oracle. More of them:
// MILLRACE_RANDOM_GRAPHS=10000 MILLRACE_RANDOM_SEED=1 build/release/tests/test_graph -tc="random graphs*"
#include "tests/support/random_graph.h"

#include <cstdlib>
#include <set>

#include <doctest/doctest.h>

#include "millrace/graph/text.h"
#include "tests/support/check_graph.h"
#include "tests/support/run_graph.h"
#include "tests/support/shrink_graph.h"

namespace millrace {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// What is wrong with the graph under one of its bindings, or nothing.
std::string find_mistake(const Graph& graph, const std::vector<SymbolValues>& bindings, const CompileOptions& options,
                         std::uint64_t seed) {
  const std::string text = to_text(graph);
  const Result<Graph> parsed = parse_graph(text);
  if (!parsed.ok()) return parsed.status().message();
  if (to_text(*parsed) != text) return "reads back as\n" + to_text(*parsed);
  for (const SymbolValues& values : bindings) {
    std::string wrong = test::check_graph(*parsed, values, options, seed);
    if (wrong.empty()) continue;
    for (const auto& [name, value] : values) wrong += " " + name + " = " + std::to_string(value);
    return wrong;
  }
  return "";
}

TEST_CASE("random graphs equal the oracle, fused and unfused, compiled and interpreted") {
  const std::uint64_t first = setting("MILLRACE_RANDOM_SEED", 1), count = setting("MILLRACE_RANDOM_GRAPHS", 500);
  std::vector<CompileOptions> ways = test::every_way_to_compile();
  ways.pop_back();  // the interpreter: every graph is compared with it
  std::set<Op> seen;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const test::RandomGraph random = test::make_random_graph(seed);
    for (const Node& node : random.graph.nodes) {
      if (const auto* op = std::get_if<OpNode>(&node.what)) seen.insert(op->op);
    }
    for (const CompileOptions& options : ways) {
      const std::string wrong = find_mistake(random.graph, random.bindings, options, seed);
      if (wrong.empty()) continue;
      const Graph smallest = test::shrink_graph(random.graph, [&](const Graph& graph) {
        return !find_mistake(graph, random.bindings, options, seed).empty();
      });
      FAIL_CHECK("seed " << seed << " on " << test::to_text(options) << ": " << wrong << "\nsmallest:\n"
                         << to_text(smallest) << find_mistake(smallest, random.bindings, options, seed));
    }
  }
  if (count < 500) return;
  for (const Op op : kAllOps) CHECK_MESSAGE(seen.contains(op), to_text(op), " is in no random graph");
}

}  // namespace
}  // namespace millrace
