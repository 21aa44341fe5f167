// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/shape.h"
#include "millrace/base/shared_bytes.h"
#include "millrace/base/status.h"
#include "millrace/graph/scope.h"
#include "millrace/ops/custom_kernel.h"
#include "millrace/ops/op.h"

namespace millrace {

struct LoopKernel;

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
  /// Set by the passes for a constant without data: it is computed when the program is loaded, as this output of
  /// PreparedConstants::setup.
  std::optional<std::uint32_t> prepared = {};
};
struct OpNode {
  Op op{};
  Attributes attributes;
  friend bool operator==(const OpNode&, const OpNode&) = default;
};
/// An application's elementwise kernel.
struct KernelNode {
  CustomKernel kernel;
};
/// An application's loop nest, with one result per store. verify() and verify_safe() accept it, its tensors are
/// row-major, and it has the types of the node's operands and results.
struct NestNode {
  std::shared_ptr<const LoopKernel> nest;
};

/// A tensor that a session keeps from run to run. Its dims are numbers.
struct VariableNode {
  std::string name;
  /// The value before the first run: all row-major bytes, or the bytes of one element, which every element then equals.
  SharedBytes initial;
};

struct Graph;

/// Repeats its body as long as a condition is true. The body's variables are the loop's state: they start with values
/// from the loop's operands, each iteration applies their updates, and their final values are the loop's results.
/// Operands: the condition of the first iteration, bool[]; then the initial state; then the body's inputs, which do not
/// change. The body has one output, the condition of the next iteration.
struct LoopNode {
  std::shared_ptr<const Graph> body;
};

/// Computes one of two graphs. Operands: the condition, bool[]; then the inputs, which both graphs share. Results: the
/// outputs of the graph that was computed; both graphs have outputs of the same types.
struct CondNode {
  std::shared_ptr<const Graph> if_true, if_false;
};

/// The function that built a node for the caller, such as scatter_nd. Run-time messages name the function, because the
/// caller does not know its nodes.
struct NodeOrigin {
  std::string function;
  /// The message if an index that the function computes is out of range at run time: found, expected; what to do.
  std::string wrong_index = {};
};

struct Node {
  std::variant<InputNode, ConstantNode, OpNode, KernelNode, NestNode, VariableNode, LoopNode, CondNode> what;
  std::vector<Value> operands;
  std::vector<TensorType> results;
  /// Names of the results in text and messages: none, or one per result, empty for a result without a name. Unique
  /// together with the scope. No pass depends on them.
  std::vector<std::string> names = {};
  /// The part of the model to which the node belongs, in Graph::scopes. Inputs and variables belong to no scope.
  std::optional<ScopeId> scope = {};
  std::shared_ptr<const NodeOrigin> origin = {};  // null: the caller built the node; graph texts leave it out
};

struct GraphOutput {
  std::string name;
  Value value;
  friend bool operator==(const GraphOutput&, const GraphOutput&) = default;
};

/// The value that a variable has in the next run. Within the run, the variable keeps its old value.
struct GraphUpdate {
  NodeId variable{};
  Value value;
  friend bool operator==(const GraphUpdate&, const GraphUpdate&) = default;
};

/// A tensor graph. Every node comes after its operands, and may have any number of results.
struct Graph {
  std::string name = "main";
  IdVector<NodeId, Node> nodes;
  std::vector<NodeId> inputs;  // in the order of the caller's arguments
  std::vector<GraphOutput> outputs;
  std::vector<GraphUpdate> updates;
  /// Whether the graph is the body of a loop or a condition. The variables of a loop's body differ from others: they
  /// may have any type, and have no initial value.
  bool is_body = false;
  ScopeTable scopes = {};

  const TensorType& type(Value value) const { return nodes[value.node].results[value.result]; }
};

/// Whether the node computes nothing: an input, a constant or a variable.
bool is_source(const Node&);
/// The name of an input or a variable; null for other nodes.
const std::string* source_name(const Node&);
/// "layer3/q": the value's name with its scopes; for an input or a variable, its own name. Empty if it has none.
std::string value_name(const Graph&, Value);
/// The names of all values that have one.
std::set<std::string> value_names(const Graph&);
/// Removes names, scopes and origins, in bodies too: everything that does not affect what the graph computes.
void strip_names(Graph&);
/// The graphs of a loop or a condition; empty for other nodes. The second overload lets the caller change them.
std::vector<const Graph*> bodies_of(const Node&);
std::vector<std::shared_ptr<const Graph>*> bodies_of(Node&);
/// The values that a run computes: the outputs, then the updates.
std::vector<Value> required_values(const Graph&);
/// The variables, in the graph's order.
std::vector<NodeId> variables_of(const Graph&);
/// For each node, one bit per result that an operand, an output or an update reads. Unused results get no storage and
/// no code.
IdVector<NodeId, std::uint32_t> used_results(const Graph&);
/// For each node, whether it is an input or a variable, or some output or update needs it.
std::vector<bool> live_nodes(const Graph&);

/// The symbols in the graph's sizes, by name. Fails if one name has two sets of facts.
Result<std::map<std::string, Dim>> collect_symbols(const Graph&);

/// "exp", "input", "constant", "variable", "kernel swish", "while", "if".
std::string kind_name(const Node&);

/// Checks these invariants. Fails with kInvalidArgument and one line per failure: node, operand, found, expected.
/// * Operands name existing results of earlier nodes.
/// * The op or kernel accepts the operands and attributes, and the result types are the inferred ones.
/// * Inputs, constants and variables have no operands and one result, whose type is within the limits on rank, extents
///   and elements.
/// * Constants and variables have a static shape, and data of exactly that shape's size; a variable may have the data
///   of one element instead.
/// * `inputs` lists every input node once. Names of inputs and variables are unique and not empty.
/// * There is an output or an update. Output names are unique and not empty, and outputs name existing results.
/// * An update names a variable and an existing result of its type. A variable has at most one update.
/// * A node has no names, or one per result, which may be empty. A name, with its scopes, is unique among all
///   results, inputs and variables.
/// * Nodes are in scopes of the graph; inputs and variables are in none.
/// * Custom kernels with the same name have the same body.
/// * The bodies of loops and conditions keep these invariants too. The operands of a loop or a condition have the types
///   that its bodies expect. Each has at most 32 results.
/// * A symbol's facts do not contradict each other and are the same everywhere, in types and attributes.
Status verify(const Graph&);

}  // namespace millrace
