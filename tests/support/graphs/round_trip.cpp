// SPDX-License-Identifier: Apache-2.0
#include "tests/support/graphs/round_trip.h"

#include "millrace/graph/text.h"

namespace millrace {
namespace {

bool same_node(const Node& a, const Node& b) {
  if (a.what.index() != b.what.index() || a.operands != b.operands || a.results != b.results || a.names != b.names) {
    return false;
  }
  if (const auto* input = std::get_if<InputNode>(&a.what)) return *input == std::get<InputNode>(b.what);
  if (const auto* constant = std::get_if<ConstantNode>(&a.what)) {
    return constant->data == std::get<ConstantNode>(b.what).data;
  }
  if (const auto* variable = std::get_if<VariableNode>(&a.what)) {
    const auto& other = std::get<VariableNode>(b.what);
    return variable->name == other.name && variable->initial == other.initial;
  }
  if (const auto* kernel = std::get_if<KernelNode>(&a.what))
    return kernel->kernel == std::get<KernelNode>(b.what).kernel;
  const std::vector<const Graph*> bodies = bodies_of(a), others = bodies_of(b);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    if (!graph_difference(*bodies[i], *others[i]).empty()) return false;
  }
  if (!bodies.empty()) return true;
  const OpNode &x = std::get<OpNode>(a.what), &y = std::get<OpNode>(b.what);
  // By text where they differ, as a NaN is unequal to itself.
  return x.op == y.op && (x.attributes == y.attributes || to_text(x.attributes) == to_text(y.attributes));
}

}  // namespace

std::string graph_difference(const Graph& found, const Graph& expected) {
  if (found.is_body != expected.is_body) return "one is a body";
  if (found.name != expected.name) return "the names differ";
  if (found.inputs != expected.inputs) return "the inputs differ";
  if (found.outputs != expected.outputs) return "the outputs differ";
  if (found.updates != expected.updates) return "the updates differ";
  if (found.nodes.size() != expected.nodes.size()) return "the numbers of nodes differ";
  for (std::uint32_t i = 0; i < found.nodes.size(); ++i) {
    if (!same_node(found.nodes[NodeId{i}], expected.nodes[NodeId{i}])) return "node " + std::to_string(i) + " differs";
  }
  return "";
}

std::string round_trip_problem(const Graph& graph, const std::vector<CustomKernel>& kernels) {
  const std::string text = to_text(graph);
  const Result<Graph> again = parse_graph(text, {.name = "text", .kernels = kernels});
  if (!again.ok()) return again.status().message() + "\n" + text;
  const std::string difference = graph_difference(*again, graph);
  if (!difference.empty()) return difference + "\n" + text;
  return to_text(*again) == text ? "" : "the texts differ\n" + text + to_text(*again);
}

}  // namespace millrace
