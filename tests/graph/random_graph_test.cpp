// SPDX-License-Identifier: Apache-2.0
// The contents of the random graphs of the tests. tests/random_graphs.cpp runs them.
#include "tests/support/random/random_graph.h"

#include <algorithm>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "millrace/graph/text.h"
#include "tests/support/random/random_composite.h"

namespace millrace {
namespace {

using Seen = std::set<std::string, std::less<>>;

void see_window(const Conv2dAttrs& a, const TensorType& x, Seen& seen) {
  if (a.groups > 1) seen.insert("conv2d in groups");
  if (a.dilations[0] > 1 && a.dilations[1] > 1) seen.insert("conv2d dilated");
  if (a.strides[0] > 1 && a.strides[1] > 1) seen.insert("conv2d with strides");
  if (a.padding[0] != a.padding[2]) seen.insert("conv2d padded unevenly");
  seen.insert(x.shape[2].is(1) ? "conv2d 1-d" : "conv2d 2-d");
}
void see_window(const Pool2dAttrs& a, const TensorType& x, Seen& seen) {
  if (a.window != a.strides) seen.insert("pool with overlaps or gaps");
  if (a.padding[0] > 0) seen.insert("pool padded");
  if (a.count_include_pad) seen.insert("pool counting padding");
  if (a.ceil_mode) seen.insert("pool rounded up");
  seen.insert(x.shape[2].is(1) ? "pool 1-d" : "pool 2-d");
}
void see_window(const auto&, const TensorType&, Seen&) {}

void see_op(const Graph& graph, const Node& node, std::uint32_t used, Seen& seen) {
  const auto& op = std::get<OpNode>(node.what);
  const std::string name(to_text(op.op));
  seen.insert("op " + name);
  if (node.results.size() == 2 && used != 0) {
    seen.insert(name + (used == 3 ? " of both" : used == 1 ? " of values" : " of indices"));
  }
  if (node.operands.empty()) return;
  const TensorType& x = graph.type(node.operands[0]);
  std::visit([&](const auto& attributes) { see_window(attributes, x, seen); }, op.attributes);
  if (!x.shape.is_static()) seen.insert("symbolic " + name);
  if (!name.starts_with("conv2d") && !name.ends_with("pool2d")) return;
  if (!x.shape[0].is_constant()) seen.insert(name + " with a symbolic batch");
  if (!x.shape[3].is_constant()) seen.insert(name + " with symbolic columns");
}

void see_types(const Node& node, const std::vector<SymbolValues>& bindings, Seen& seen) {
  for (const TensorType& type : node.results) {
    seen.insert("dtype " + std::string(to_text(type.dtype)));
    seen.insert("rank " + std::to_string(type.shape.rank()));
    for (const SizeExpr& dim : type.shape.dims()) {
      const std::string kind = dim.is_constant() ? "number " : "symbolic dim ";
      for (const SymbolValues& values : bindings) {
        const std::int64_t size = dim.evaluate(values).value();
        if (size < 2) seen.insert(kind + std::to_string(size));
      }
    }
  }
}

Seen see_tested_graphs() {
  Seen seen;
  for (std::uint64_t seed = 1; seed <= test::kTestedGraphs; ++seed) {
    const test::RandomGraph random = test::make_random_graph(seed);
    const auto used = used_results(random.graph);
    for (std::uint32_t i = 0; i < random.graph.nodes.size(); ++i) {
      const Node& node = random.graph.nodes[NodeId{i}];
      if (std::holds_alternative<OpNode>(node.what)) see_op(random.graph, node, used[NodeId{i}], seen);
      see_types(node, random.bindings, seen);
    }
    for (const std::string_view name : random.composites) seen.insert("composite " + std::string(name));
  }
  return seen;
}

std::vector<std::string> expected_in_random_graphs() {
  std::vector<std::string> expected = {"number 0",
                                       "number 1",
                                       "symbolic dim 0",
                                       "symbolic dim 1",
                                       "rank 0",
                                       "rank 5",
                                       "conv2d in groups",
                                       "conv2d dilated",
                                       "conv2d with strides",
                                       "conv2d padded unevenly",
                                       "conv2d 1-d",
                                       "conv2d 2-d",
                                       "conv2d with a symbolic batch",
                                       "conv2d with symbolic columns",
                                       "max_pool2d with a symbolic batch",
                                       "max_pool2d with symbolic columns",
                                       "avg_pool2d with symbolic columns",
                                       "pool with overlaps or gaps",
                                       "pool padded",
                                       "pool counting padding",
                                       "pool rounded up",
                                       "pool 1-d",
                                       "pool 2-d"};
  for (const DType dtype : kAllDTypes) expected.push_back("dtype " + std::string(to_text(dtype)));
  for (const Op op : kAllOps) {
    const std::string name(to_text(op));
    expected.push_back("op " + name);
    if (info(op).num_operands != 0) expected.push_back("symbolic " + name);
  }
  for (const std::string order : {"sort", "topk"}) {
    for (const char* results : {" of both", " of values", " of indices"}) expected.push_back(order + results);
  }
  for (const test::CompositeRow& row : test::all_composites()) {
    expected.push_back("composite " + std::string(row.name));
  }
  return expected;
}

TEST_CASE("the tested random graphs have every op, dtype and composite, results used and not, sizes 0 and 1") {
  const Seen seen = see_tested_graphs();
  for (const std::string& what : expected_in_random_graphs()) CHECK_MESSAGE(seen.contains(what), what, " is in none");
}

TEST_CASE("about one in ten reductions of the tested random graphs has more than 100,000 elements") {
  std::size_t num_reductions = 0, num_long = 0;
  for (std::uint64_t seed = 1; seed <= test::kTestedGraphs; ++seed) {
    const Graph graph = test::make_random_graph(seed).graph;
    for (const Node& node : graph.nodes) {
      const auto* op = std::get_if<OpNode>(&node.what);
      if (op == nullptr || !std::holds_alternative<ReduceAttrs>(op->attributes)) continue;
      ++num_reductions;
      num_long += graph.type(node.operands[0]).shape.num_elements().lower_bound() > 100'000 ? 1 : 0;
    }
  }
  CHECK(num_long > num_reductions / 16);
  CHECK(num_long < num_reductions / 6);
}

TEST_CASE("equal seeds give equal graphs") {
  for (const std::uint64_t seed : {1, 17, 400}) {
    CHECK(to_text(test::make_random_graph(seed).graph) == to_text(test::make_random_graph(seed).graph));
  }
}

}  // namespace
}  // namespace millrace
