// SPDX-License-Identifier: Apache-2.0
// Common subexpression elimination: equal nodes become one.
#include <map>
#include <xxhash.h>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/passes/rewriter.h"
#include "millrace/graph/passes.h"

namespace millrace {
namespace {

/// Equal nodes have equal keys. Unequal nodes may share a key; then `equal` compares them.
std::string key_of(const Node& node) {
  std::string key = kind_name(node);
  if (const auto* op = std::get_if<OpNode>(&node.what)) key += to_text(op->attributes);
  if (const auto* constant = std::get_if<ConstantNode>(&node.what)) {
    key += fmt::format(" {:x}", XXH3_64bits(constant->data.data(), constant->data.size()));
  }
  for (const TensorType& type : node.results) key += " " + type.to_text();
  for (const Value& operand : node.operands) key += fmt::format(" %{}.{}", index_of(operand.node), operand.result);
  return key;
}

bool equal(const Node& a, const Node& b) {
  if (a.what.index() != b.what.index() || a.operands != b.operands || a.results != b.results) return false;
  if (const auto* op = std::get_if<OpNode>(&a.what)) return *op == std::get<OpNode>(b.what);
  if (const auto* kernel = std::get_if<KernelNode>(&a.what))
    return kernel->kernel == std::get<KernelNode>(b.what).kernel;
  if (const auto* constant = std::get_if<ConstantNode>(&a.what)) {
    return constant->data == std::get<ConstantNode>(b.what).data;
  }
  return false;
}

}  // namespace

Status merge_equal_nodes(Graph& graph) {
  return guard_allocations([&]() -> Status {
    GraphRewriter rewriter(graph);
    std::multimap<std::string, NodeId> known;
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
      Node node = rewriter.mapped(NodeId{i});
      if (source_name(node) != nullptr) {  // inputs and variables are never equal
        rewriter.keep(NodeId{i}, rewriter.append(std::move(node)));
        continue;
      }
      const std::string key = key_of(node);
      const auto [begin, end] = known.equal_range(key);
      auto found = begin;
      while (found != end && !equal(rewriter.graph().nodes[found->second], node)) ++found;
      if (found != end) {
        rewriter.keep(NodeId{i}, found->second);
        continue;
      }
      const NodeId added = rewriter.append(std::move(node));
      known.emplace(key, added);
      rewriter.keep(NodeId{i}, added);
    }
    graph = rewriter.finish();
    return {};
  });
}

}  // namespace millrace
