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
  /// Only after the passes, and then without data: computed when the program is loaded, by this output of the graph
  /// that take_prepared() makes.
  std::optional<std::uint32_t> prepared = {};
};
struct OpNode {
  Op op{};
  Attributes attributes;
  friend bool operator==(const OpNode&, const OpNode&) = default;
};
struct KernelNode {
  CustomKernel kernel;
};

/// A tensor that a session keeps from run to run. Its dims are numbers.
struct VariableNode {
  std::string name;
  /// Before the first run: the row-major bytes, or those of one element, which all elements then equal.
  SharedBytes initial;
};

struct Graph;

/// Runs its body again and again, as long as a condition is true. The body's variables are the state: they begin with
/// the loop's operands, each round gives them their updates, and the loop's results are what they are at the end.
/// Operands: the condition of the first round, bool[]; the first state; then the body's inputs, which are the same in
/// each round. The body's one output is the condition of the next round.
struct LoopNode {
  std::shared_ptr<const Graph> body;
};

/// Computes one of two graphs. Operands: the condition, bool[]; then the inputs that both graphs have. Results: the
/// outputs of the graph that was computed, which both have, of the same types.
struct CondNode {
  std::shared_ptr<const Graph> if_true, if_false;
};

/// The function that built a node for the caller, such as scatter_nd. The messages of a run name it, as the caller does
/// not know the nodes in it.
struct NodeOrigin {
  std::string function;
  /// What a run says of an index that the function computed and that is out of range: found, expected; what to do.
  std::string wrong_index = {};
};

struct Node {
  std::variant<InputNode, ConstantNode, OpNode, KernelNode, VariableNode, LoopNode, CondNode> what;
  std::vector<Value> operands;
  std::vector<TensorType> results;
  /// Names of the results in text and messages: one per result, where an empty one says that the result has none; or
  /// no names at all. Unique together with the scope. No pass depends on them.
  std::vector<std::string> names = {};
  /// In Graph::scopes: the part of the model that the node belongs to. Inputs and variables are in no scope.
  std::optional<ScopeId> scope = {};
  std::shared_ptr<const NodeOrigin> origin = {};  // null: the caller built the node; texts do not keep it
};

struct GraphOutput {
  std::string name;
  Value value;
  friend bool operator==(const GraphOutput&, const GraphOutput&) = default;
};

/// The value that a variable has after a run, for the next one. Within the run, the variable keeps its old value.
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
  /// Whether it is the body of a loop or a condition. Only the variables of a loop's body are of any type, and have no
  /// initial value.
  bool is_body = false;
  ScopeTable scopes = {};

  const TensorType& type(Value value) const { return nodes[value.node].results[value.result]; }
};

/// Whether the node computes nothing: an input, a constant or a variable.
bool is_source(const Node&);
/// The name of an input or a variable; null for other nodes.
const std::string* source_name(const Node&);
/// "layer3/q": the value's name with the scopes that it is in; of an input or a variable, its name. Empty if it has
/// none.
std::string value_name(const Graph&, Value);
/// The names of all values that have one.
std::set<std::string> value_names(const Graph&);
/// Removes the names of values, their scopes and origins, also in bodies. What is left decides what is computed.
void strip_names(Graph&);
/// The graphs in the node, and the same to change them; none of most nodes.
std::vector<const Graph*> bodies_of(const Node&);
std::vector<std::shared_ptr<const Graph>*> bodies_of(Node&);
/// What a run computes: the values of the outputs, then those of the updates.
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
/// * Constants and variables have a static shape, and data of exactly its size; a variable may have one element's.
/// * `inputs` lists every input node once. Names of inputs and variables are unique and not empty.
/// * There is an output or an update. Output names are unique and not empty, and outputs name existing results.
/// * An update names a variable and an existing result of its type. A variable has at most one.
/// * A node has no names, or one per result, which may be empty. A name is unique within its scope, also among the
///   inputs and variables.
/// * Nodes are in scopes of the graph; inputs and variables are in none.
/// * Kernels of one name have one body.
/// * Bodies keep these rules. The operands of a loop or a condition have the types that its bodies say, and it has at
///   most 32 results.
/// * Symbols do not contradict themselves and have one set of facts each, in types and attributes.
Status verify(const Graph&);

}  // namespace millrace
