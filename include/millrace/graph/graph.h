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
#include "millrace/base/shared_bytes.h"
#include "millrace/base/status.h"
#include "millrace/ops/custom_kernel.h"
#include "millrace/ops/op.h"

namespace millrace {

enum class NodeId : std::uint32_t {};

/// A result of a node. Immutable: no op writes its operands.
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
/// The row-major bytes of the node's result. Shared by graphs and programs, never written.
struct ConstantNode {
  SharedBytes data;
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
  /// Names of the results in text and messages: one per result, or none. No pass depends on them.
  std::vector<std::string> names = {};
};

struct GraphOutput {
  std::string name;
  Value value;
  friend bool operator==(const GraphOutput&, const GraphOutput&) = default;
};

/// A tensor graph. Every node comes after its operands, and may have any number of results.
struct Graph {
  std::string name = "main";
  IdVector<NodeId, Node> nodes;
  std::vector<NodeId> inputs;  // in the order of the caller's arguments
  std::vector<GraphOutput> outputs;

  const TensorType& type(Value value) const { return nodes[value.node].results[value.result]; }
};

/// For each node, one bit per result that an operand or an output reads. Unused results get no storage and no code.
IdVector<NodeId, std::uint32_t> used_results(const Graph&);
/// For each node, whether it is an input or some output needs it.
std::vector<bool> live_nodes(const Graph&);

/// The symbols in the graph's sizes, by name. Fails if one name has two sets of facts.
Result<std::map<std::string, Dim>> collect_symbols(const Graph&);

/// "exp", "input", "constant", "kernel swish".
std::string kind_name(const Node&);

/// Checks these invariants. Fails with kInvalidArgument and one line per failure: node, operand, found, expected.
/// * Operands name existing results of earlier nodes.
/// * The op or kernel accepts the operands and attributes, and the result types are the inferred ones.
/// * Inputs and constants have no operands and one result, whose type is within the limits on rank, extents and
///   elements.
/// * Constants have a static shape and data of exactly its size.
/// * `inputs` lists every input node once. Input names are unique and not empty.
/// * There is an output. Output names are unique and not empty, and outputs name existing results.
/// * A node names all its results or none. Result names are unique, also among the inputs.
/// * Kernels of one name have one body.
/// * Symbols do not contradict themselves and have one set of facts each, in types and attributes.
Status verify(const Graph&);

}  // namespace millrace
