// SPDX-License-Identifier: Apache-2.0
// verify(Graph), which checks the invariants that graph.h lists.
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "base/verification.h"
#include "graph/control_rules.h"
#include "graph/infer.h"
#include "graph/variable_rules.h"
#include "graph/verify_built.h"
#include "millrace/base/printable.h"
#include "millrace/graph/text.h"
#include "millrace/ops/op_def.h"

namespace millrace {
namespace {

class Verifier {
 public:
  /// `is_built`: whether a builder has checked each node as it was added.
  Verifier(const Graph& graph, bool is_built, std::size_t depth = 0)
      : graph_(graph), is_built_(is_built), depth_(depth) {}

  Status run() {
    check_scopes();
    if (!problems_.empty()) return invalid_argument(problems_);  // other messages name values by their scopes
    for (const Node& node : graph_.nodes) {
      if (const std::string* name = source_name(node)) names_.insert(*name);
    }
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) check_node(NodeId{i});
    check_inputs();
    check_variables();
    check_outputs();
    check_updates();
    check_symbols();
    return problems_.empty() ? Status() : invalid_argument(problems_);
  }

 private:
  void problem(const std::string& text) { problems_ += (problems_.empty() ? "" : "\n") + text; }
  template <class... Args>
  void problem_at(NodeId id, fmt::format_string<Args...> format, Args&&... args) {
    problem(node_text(graph_, id) + ": " + fmt::format(format, std::forward<Args>(args)...));
  }

  void check_scopes() {
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[NodeId{i}];
      if (!node.scope) continue;
      const std::string where = fmt::format("%{} = {}", i, kind_name(node));
      if (!graph_.scopes.contains(*node.scope)) {
        problem(fmt::format("{}: is in scope {}, expected less than {}; add it to the graph's scopes", where,
                            index_of(*node.scope), graph_.scopes.size()));
      } else if (source_name(node) != nullptr) {
        problem(fmt::format("{}: is in scope '{}', expected none for an input or a variable; remove it", where,
                            printable(graph_.scopes[*node.scope].name)));
      }
    }
  }

  void check_node(NodeId id) {
    const Node& node = graph_.nodes[id];
    check_names(id);
    check_kernel_name(id);
    if (is_built_ && bodies_of(node).empty()) return;
    std::vector<TensorType> operands;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const Value operand = node.operands[i];
      if (index_of(operand.node) >= index_of(id)) {
        return problem_at(id, "operand {} is node %{}, expected an earlier node; order operands before users", i,
                          index_of(operand.node));
      }
      if (operand.result >= graph_.nodes[operand.node].results.size()) {
        return problem_at(id, "operand {} is result {} of %{}, which has {}; name one that it has", i, operand.result,
                          index_of(operand.node), graph_.nodes[operand.node].results.size());
      }
      operands.push_back(graph_.type(operand));
    }
    if (is_source(node)) return check_source(id);
    if (!check_bodies(id)) return;
    const Result<Inference> inferred = infer_node(node, operands);
    if (!inferred.ok()) return problem_at(id, "{}", inferred.status().message());
    const std::vector<TensorType>& expected = inferred->results;
    if (expected.size() != node.results.size()) {
      return problem_at(id, "has {} results, expected {}; list the type of each", node.results.size(), expected.size());
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected[i] == node.results[i]) continue;
      problem_at(id, "result {} is {}, expected {} from the operands", i, node.results[i].to_text(),
                 expected[i].to_text());
    }
  }

  /// Returns false if there is no body from which types can be inferred.
  bool check_bodies(NodeId id) {
    bool are_valid = true;
    const Node& node = graph_.nodes[id];
    if (depth_ == kMaxControlDepth && !bodies_of(node).empty()) {
      problem(too_deep(node_text(graph_, id)));
      return false;
    }
    for (const Graph* body : bodies_of(node)) {
      if (body == nullptr) {
        problem_at(id, "has no body; give it a graph");
        return false;
      }
      if (!body->is_body) problem_at(id, "graph '{}' is not a body; set is_body", printable(body->name));
      const Status status = Verifier(*body, is_built_, depth_ + 1).run();
      if (!status.ok()) problem_at(id, "in '{}': {}", printable(body->name), status.message());
      are_valid &= status.ok();
    }
    return are_valid;
  }

  /// Checks the names of results. Inputs and variables have none, because their nodes hold a name themselves.
  void check_names(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (node.names.empty() || source_name(node) != nullptr) return;
    if (node.names.size() != node.results.size()) {
      return problem(fmt::format("%{} = {}: has {} names, expected {}, one per result, or none; name all or none",
                                 index_of(id), kind_name(node), node.names.size(), node.results.size()));
    }
    for (std::uint32_t i = 0; i < node.results.size(); ++i) {
      const std::string name = value_name(graph_, {id, i});
      if (name.empty() || names_.insert(name).second) continue;
      problem(fmt::format("%{} = {}: the name '{}' is taken; give every value its own", index_of(id), kind_name(node),
                          printable(name)));
    }
  }

  /// A text identifies a kernel only by its name.
  void check_kernel_name(NodeId id) {
    const auto* kernel = std::get_if<KernelNode>(&graph_.nodes[id].what);
    if (kernel == nullptr) return;
    const auto [first, inserted] = kernels_.emplace(kernel->kernel.name, id);
    if (inserted || std::get<KernelNode>(graph_.nodes[first->second].what).kernel == kernel->kernel) return;
    problem(fmt::format("{}: the body differs from that of %{}, expected one body for a name; rename one kernel",
                        node_text(graph_, id), index_of(first->second)));
  }

  /// Checks an input, a constant or a variable.
  void check_source(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (!node.operands.empty()) problem_at(id, "has {} operands, expected none; remove them", node.operands.size());
    if (node.results.size() != 1) {
      return problem_at(id, "has {} results, expected 1; keep one type", node.results.size());
    }
    if (const auto* variable = std::get_if<VariableNode>(&node.what)) {
      const std::string found = graph_.is_body ? state_problem(node.results[0], variable->initial.size())
                                               : variable_problem(node.results[0], variable->initial.size());
      if (!found.empty()) problem_at(id, "{}", found);
      return;
    }
    const std::string broken = broken_limit(node.results[0]);
    if (!broken.empty()) return problem_at(id, "the type {}", broken);
    if (const auto* constant = std::get_if<ConstantNode>(&node.what)) check_constant(id, *constant);
  }

  void check_constant(NodeId id, const ConstantNode& constant) {
    const TensorType& type = graph_.nodes[id].results[0];
    if (!type.shape.is_static()) {
      return problem_at(id, "the type is {}, expected dims that are numbers; give numbers", type.to_text());
    }
    const SizeExpr expected = constant.prepared ? SizeExpr(0) : size_bytes(type);
    if (!expected.is(static_cast<std::int64_t>(constant.data.size()))) {
      problem_at(id, "holds {} bytes, expected {} for {}; give every element once", constant.data.size(),
                 expected.to_text(), type.to_text());
    }
  }

  void check_inputs() {
    std::set<std::string> names;
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const NodeId id = graph_.inputs[i];
      if (!graph_.nodes.contains(id) || !std::holds_alternative<InputNode>(graph_.nodes[id].what)) {
        problem(fmt::format("graph input {} is %{}, which is not an input node; list input nodes", i, index_of(id)));
        continue;
      }
      const std::string& name = std::get<InputNode>(graph_.nodes[id].what).name;
      if (name.empty()) problem(fmt::format("%{} = input: the name is empty; give every input a name", index_of(id)));
      if (!names.insert(name).second) {
        problem(fmt::format("%{} = input: the name '{}' is taken; give every input its own", index_of(id),
                            printable(name)));
      }
    }
    std::size_t nodes = 0;
    for (const Node& node : graph_.nodes) nodes += std::holds_alternative<InputNode>(node.what) ? 1 : 0;
    if (nodes != graph_.inputs.size()) {
      problem(fmt::format("the graph lists {} inputs and has {} input nodes, expected the same number; list each once",
                          graph_.inputs.size(), nodes));
    }
  }

  void check_variables() {
    std::set<std::string> names;
    for (const NodeId input : graph_.inputs) {
      if (const std::string* name = graph_.nodes.contains(input) ? source_name(graph_.nodes[input]) : nullptr) {
        names.insert(*name);
      }
    }
    for (const NodeId id : variables_of(graph_)) {
      const std::string& name = *source_name(graph_.nodes[id]);
      if (name.empty())
        problem(fmt::format("%{} = variable: the name is empty; give every variable a name", index_of(id)));
      if (!names.insert(name).second) {
        problem(fmt::format("%{} = variable: the name '{}' is taken; give every variable its own", index_of(id),
                            printable(name)));
      }
    }
  }

  void check_updates() {
    for (std::size_t i = 0; i < graph_.updates.size(); ++i) {
      const std::string found = update_problem(graph_, graph_.updates[i], std::span(graph_.updates).first(i));
      if (!found.empty()) problem(found);
    }
  }

  void check_outputs() {
    std::set<std::string> names;
    if (graph_.outputs.empty() && graph_.updates.empty() && !graph_.is_body) {
      problem("the graph has no output; name what it computes with output()");
    }
    for (const GraphOutput& output : graph_.outputs) {
      if (output.name.empty()) problem("an output's name is empty; give every output a name");
      if (!names.insert(output.name).second) {
        problem(fmt::format("output '{}': the name is taken; give every output its own", printable(output.name)));
      }
      if (!graph_.nodes.contains(output.value.node) ||
          output.value.result >= graph_.nodes[output.value.node].results.size()) {
        problem(fmt::format("output '{}': is result {} of %{}, which the graph does not have; name one that it has",
                            printable(output.name), output.value.result, index_of(output.value.node)));
      }
    }
  }

  /// Checks that each symbol has one set of facts, in types and in attributes (a dynamic k appears in no input).
  void check_symbols() {
    std::map<std::string, Dim> known;
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[NodeId{i}];
      for (const SizeExpr& size : sizes_of(node)) {
        const Status status = unguarded(size.collect_symbols(known));
        if (status.ok()) continue;
        problem(fmt::format("{}: {}", node_text(graph_, NodeId{i}), status.message()));
        break;
      }
    }
  }

  const Graph& graph_;
  bool is_built_;
  std::size_t depth_;                      // the number of bodies around the graph
  std::set<std::string> names_;            // the names of the inputs, and of the results so far
  std::map<std::string, NodeId> kernels_;  // kernel name -> first node
  std::string problems_;
};

}  // namespace

Status verify(const Graph& graph) {
  VerificationCount::note(IrLevel::kGraph);
  return guard_allocations([&] { return Verifier(graph, /*is_built=*/false).run(); });
}

Status verify_built(const Graph& graph) {
  return kVerifiesSteps ? verify(graph) : Verifier(graph, /*is_built=*/true).run();
}

}  // namespace millrace
