// SPDX-License-Identifier: Apache-2.0
// Common subexpression elimination: equal nodes become one.
#include <string>
#include <unordered_map>
#include <vector>
#include <xxhash.h>

#include "base/guard_allocations.h"
#include "graph/passes/rewriter.h"
#include "millrace/graph/passes.h"
#include "millrace/jit/loop_kernel.h"

namespace millrace {
namespace {

/// Equal nodes have equal hashes. `equal` compares nodes whose hashes are equal.
std::uint64_t hash_of(const Node& node) {
  std::string text = kind_name(node);
  if (const auto* op = std::get_if<OpNode>(&node.what)) text += to_text(op->attributes);
  std::vector<std::uint64_t> numbers = {XXH3_64bits(text.data(), text.size())};
  if (const auto* constant = std::get_if<ConstantNode>(&node.what)) {
    numbers.push_back(XXH3_64bits(constant->data.data(), constant->data.size()));
  }
  for (const TensorType& type : node.results) {
    numbers.push_back(static_cast<std::uint64_t>(type.dtype));
    for (const SizeExpr& dim : type.shape.dims()) {
      numbers.push_back(dim.is_constant() ? static_cast<std::uint64_t>(dim.constant()) : ~std::uint64_t{0});
    }
  }
  for (const Value& operand : node.operands) {
    numbers.push_back(index_of(operand.node));
    numbers.push_back(operand.result);
  }
  return XXH3_64bits(numbers.data(), numbers.size() * sizeof(std::uint64_t));
}

bool equal(const Node& a, const Node& b) {
  if (a.what.index() != b.what.index() || a.operands != b.operands || a.results != b.results) return false;
  if (const auto* op = std::get_if<OpNode>(&a.what)) return *op == std::get<OpNode>(b.what);
  if (const auto* kernel = std::get_if<KernelNode>(&a.what))
    return kernel->kernel == std::get<KernelNode>(b.what).kernel;
  if (const auto* own = std::get_if<NestNode>(&a.what)) return *own->nest == *std::get<NestNode>(b.what).nest;
  if (const auto* constant = std::get_if<ConstantNode>(&a.what)) {
    return constant->data == std::get<ConstantNode>(b.what).data;
  }
  return false;
}

}  // namespace

Status merge_equal_nodes(Graph& graph) {
  return guard_allocations([&]() -> Status {
    GraphRewriter rewriter(graph);
    std::unordered_multimap<std::uint64_t, NodeId> known;
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
      Node node = rewriter.mapped(NodeId{i});
      if (source_name(node) != nullptr) {  // inputs and variables are never equal
        rewriter.keep(NodeId{i}, rewriter.append(std::move(node)));
        continue;
      }
      const std::uint64_t hash = hash_of(node);
      const auto [begin, end] = known.equal_range(hash);
      auto found = begin;
      while (found != end && !equal(rewriter.graph().nodes[found->second], node)) ++found;
      if (found != end) {
        rewriter.keep(NodeId{i}, found->second);
        continue;
      }
      const NodeId added = rewriter.append(std::move(node));
      known.emplace(hash, added);
      rewriter.keep(NodeId{i}, added);
    }
    graph = rewriter.finish();
    return {};
  });
}

}  // namespace millrace
