// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/shape.h"
#include "millrace/base/status.h"
#include "millrace/ops/custom_kernel.h"
#include "millrace/ops/op.h"

namespace millrace {

enum class NodeId : std::uint32_t {};

/// A result of a node. Immutable: no op writes an operand.
struct Value {
  NodeId node{};
  std::uint32_t result = 0;
  friend bool operator==(const Value&, const Value&) = default;
  friend auto operator<=>(const Value&, const Value&) = default;
};

struct InputNode {
  std::string name;
  friend bool operator==(const InputNode&, const InputNode&) = default;
};
/// Row-major bytes of the node's result type, shared by graphs and programs and never written.
struct ConstantNode {
  std::shared_ptr<const std::vector<std::byte>> data;
};
struct OpNode {
  Op op{};
  Attributes attributes;
  friend bool operator==(const OpNode&, const OpNode&) = default;
};
struct KernelNode {
  CustomKernel kernel;
};

struct Node {
  std::variant<InputNode, ConstantNode, OpNode, KernelNode> what;
  std::vector<Value> operands;
  std::vector<TensorType> results;
  /// What a text calls the results, for messages and for printing: one per result, or none. No pass depends on them.
  std::vector<std::string> names = {};
};

struct GraphOutput {
  std::string name;
  Value value;
  friend bool operator==(const GraphOutput&, const GraphOutput&) = default;
};

/// A tensor graph: nodes in an order in which operands come first. Nodes have any number of results.
struct Graph {
  std::string name = "main";
  IdVector<NodeId, Node> nodes;
  std::vector<NodeId> inputs;  // in the order of the caller's arguments
  std::vector<GraphOutput> outputs;

  const TensorType& type(Value value) const { return nodes[value.node].results[value.result]; }
};

/// For each node, a bit per result that an operand or an output reads. Unused results get no storage and no code.
IdVector<NodeId, std::uint32_t> used_results(const Graph&);
/// Whether a node is an input, or what the outputs need; by node number.
std::vector<bool> live_nodes(const Graph&);

/// The symbols that sizes of the graph are made of, by name. Fails when one name has two sets of facts.
Result<std::map<std::string, Dim>> collect_symbols(const Graph&);

/// "exp", "input", "constant", "kernel swish".
std::string kind_name(const Node&);

/// Every broken rule, one a line, each naming node, operand, found and expected: operands before their users, operand
/// counts, types as inferred, names unique and (of inputs and outputs) not empty, constants of the right size, one set
/// of facts a symbol.
Status verify(const Graph&);

}  // namespace millrace
