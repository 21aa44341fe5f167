// SPDX-License-Identifier: Apache-2.0
// The shrinker on random graphs with planted failures: it leaves the failure and its inputs.
#include "tests/support/graphs/shrink_graph.h"

#include <algorithm>
#include <bit>

#include <doctest/doctest.h>

#include "millrace/graph/text.h"
#include "tests/support/golden.h"
#include "tests/support/random/check_random_graph.h"
#include "tests/support/random/random_graph.h"

namespace millrace {
namespace {

using Planted = std::function<bool(const Graph&)>;

bool is_op(const Node& node, Op op) {
  const auto* what = std::get_if<OpNode>(&node.what);
  return what != nullptr && what->op == op;
}

bool any_node(const Graph& graph, const std::function<bool(const Node&)>& holds) {
  return std::ranges::any_of(graph.nodes, holds);
}

bool has_topk_above_3(const Graph& graph) {
  return any_node(graph, [](const Node& node) {
    return is_op(node, Op::topk) && std::get<TopKAttrs>(std::get<OpNode>(node.what).attributes).k.lower_bound() > 3;
  });
}

bool has_cast_of_select(const Graph& graph) {
  return any_node(graph, [&](const Node& node) {
    return is_op(node, Op::cast) && is_op(graph.nodes[node.operands[0].node], Op::select);
  });
}

/// A broadcast below a reshape, however far.
bool has_broadcast_below_reshape(const Graph& graph) {
  std::vector<bool> is_below;
  for (const Node& node : graph.nodes) {
    is_below.push_back(is_op(node, Op::reshape) || std::ranges::any_of(node.operands, [&](const Value& operand) {
                         return is_below[static_cast<std::size_t>(operand.node)];
                       }));
    if (is_below.back() && is_op(node, Op::broadcast)) return true;
  }
  return false;
}

bool has_two_used_results(const Graph& graph) {
  const auto used = used_results(graph);
  return std::ranges::any_of(used, [](std::uint32_t results) { return std::popcount(results) == 2; });
}

std::ptrdiff_t num_ops(const Graph& graph) {
  return std::ranges::count_if(graph.nodes, [](const Node& node) { return std::holds_alternative<OpNode>(node.what); });
}

/// The mistake in the rest of the graph; empty if it has none.
std::string shrunk_problem(const Graph& graph, const Planted& fails, std::ptrdiff_t max_ops) {
  const Graph smallest = test::shrink_graph(graph, fails);
  const std::string text = to_text(smallest);
  const Result<Graph> parsed = parse_graph(text);
  if (!parsed.ok()) return parsed.status().message();
  if (to_text(*parsed) != text) return "reads back as\n" + to_text(*parsed);
  if (!verify(smallest).ok()) return verify(smallest).message();
  if (!fails(smallest) || !fails(*parsed)) return "does not fail\n" + text;
  if (std::ranges::any_of(test::smaller_graphs(smallest), fails)) return "a smaller one fails\n" + text;
  // An op has at most three operands, and no unread value is left.
  const auto max_nodes = static_cast<std::size_t>(4 * max_ops);
  return num_ops(smallest) <= max_ops && smallest.nodes.size() <= max_nodes ? "" : "is large\n" + text;
}

/// Shrinks the first ten random graphs in which the failure is.
void check_shrunk(const Planted& fails, std::ptrdiff_t max_ops) {
  int num_failing = 0;
  for (std::uint64_t seed = 1; seed <= 5000 && num_failing < 10; ++seed) {
    const Graph graph = test::make_random_graph(seed).graph;
    if (!fails(graph)) continue;
    ++num_failing;
    CHECK_MESSAGE(shrunk_problem(graph, fails, max_ops) == "", "seed ", seed);
  }
  CHECK(num_failing == 10);
}

TEST_CASE("a shrunk graph is the failing op alone") { check_shrunk(has_topk_above_3, 1); }

TEST_CASE("a shrunk graph is the failing op and the one that feeds it") { check_shrunk(has_cast_of_select, 2); }

TEST_CASE("ops between two that fail together are removed if types allow") {
  check_shrunk(has_broadcast_below_reshape, 5);
}

TEST_CASE("a shrunk graph keeps both results in use, and no node that uses them") {
  check_shrunk(has_two_used_results, 1);
}

constexpr std::string_view kChain = R"(graph chain(%x: f32[4], %cut0: f32[4]) {
  %0 = exp(%x)
  %1 = neg(%0)
  %2 = add(%1, %cut0)
  %3 = tanh(%2)
  return y = %3, z = %1
}
)";

TEST_CASE("a chain loses its ends, its producers and the nodes between") {
  const Graph graph = parse_graph(kChain).value();
  const Graph smallest = test::shrink_graph(graph, [](const Graph& candidate) {
    return any_node(candidate, [](const Node& node) { return is_op(node, Op::exp); }) &&
           any_node(candidate, [](const Node& node) { return is_op(node, Op::add); });
  });
  CHECK(test::golden_problem("shrunk_chain.txt", to_text(smallest)) == "");
}

TEST_CASE("a failing node that no output needs is kept, and becomes the output") {
  Graph graph = parse_graph(kChain).value();
  graph.outputs = {{"x", {graph.inputs[0], 0}}};
  const Graph smallest = test::shrink_graph(graph, [](const Graph& candidate) {
    return any_node(candidate, [](const Node& node) { return is_op(node, Op::neg); });
  });
  CHECK(to_text(smallest) == R"(graph chain(%cut0: f32[4]) {
  %1 = neg(%cut0) : f32[4]
  return dead5 = %1
}
)");
}

TEST_CASE("the report of a mistake has the smallest graph as text that parses") {
  const auto find_planted = [](const Graph& graph) {
    return any_node(graph, [](const Node& node) { return is_op(node, Op::add); }) ? "add is planted" : "";
  };
  const std::string report = test::report_mistake(parse_graph(kChain).value(), find_planted);
  CHECK(test::golden_problem("shrunk_report.txt", report) == "");
  const std::size_t begin = report.find("graph"), end = report.find("}\n") + 2;
  const Result<Graph> parsed = parse_graph(report.substr(begin, end - begin));
  REQUIRE(parsed.status().message() == "");
  CHECK(std::string(find_planted(*parsed)) == "add is planted");
}

TEST_CASE("without a mistake there is no report") {
  CHECK(test::report_mistake(parse_graph(kChain).value(), [](const Graph&) { return ""; }) == "");
}

}  // namespace
}  // namespace millrace
