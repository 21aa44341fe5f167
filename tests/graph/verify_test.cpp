// SPDX-License-Identifier: Apache-2.0
// Every rule of verify(), broken by hand in a graph that a builder cannot make.
#include <doctest/doctest.h>

#include "tests/graph/misuse.h"

namespace millrace {
namespace {

/// %0 = input(x), %1 = constant, %2 = add, %3.0, %3.1 = topk; returns y = %2, i = %3.1.
Graph sound_graph() {
  GraphBuilder builder("sound");
  Tensor x = f32(builder, {4});
  const float ones[] = {1, 1, 1, 1};
  Tensor sum = x + builder.constant<float>({4}, ones);
  builder.output("y", sum);
  builder.output("i", topk(sum, 2).indices);
  return builder.finish().value();
}

Node& node(Graph& graph, std::uint32_t id) { return graph.nodes[NodeId{id}]; }

struct Damage {
  const char* claim;
  void (*damage)(Graph&);
  const char* message;
};

constexpr Damage kNodeDamage[] = {
    {"an operand that comes later", [](Graph& g) { node(g, 2).operands[1] = {NodeId{3}, 0}; },
     "%2 = add: operand 1 is node %3, expected an earlier node; order operands before users"},
    {"an operand that is itself", [](Graph& g) { node(g, 2).operands[0] = {NodeId{2}, 0}; },
     "%2 = add: operand 0 is node %2, expected an earlier node; order operands before users"},
    {"an operand that there is not", [](Graph& g) { node(g, 2).operands[0] = {NodeId{99}, 0}; },
     "%2 = add: operand 0 is node %99, expected an earlier node; order operands before users"},
    {"a result that there is not", [](Graph& g) { node(g, 2).operands[0].result = 7; },
     "%2 = add: operand 0 is result 7 of %0, which has 1; name one that it has"},
    {"too many operands", [](Graph& g) { node(g, 2).operands.push_back({NodeId{0}, 0}); },
     "%2 = add: 3 operands, expected 2 (x, y); leave out the last"},
    {"a type that the operands do not give", [](Graph& g) { node(g, 2).results[0].dtype = DType::kF64; },
     "%2 = add: result 0 is f64[4], expected f32[4] from the operands\n"
     "%3 = topk: result 0 is f32[2], expected f64[2] from the operands"},
    {"a result too few", [](Graph& g) { node(g, 3).results.pop_back(); },
     "%3 = topk: has 1 results, expected 2; list the type of each\n"
     "output 'i': is result 1 of %3, which the graph does not have; name one that it has"},
    {"another op's attributes", [](Graph& g) { std::get<OpNode>(node(g, 3).what).attributes = SortAttrs{}; },
     "%3 = topk: attributes are SortAttrs, expected TopKAttrs; pass what topk takes"},
    {"a kernel without a body", [](Graph& g) { node(g, 2).what = KernelNode{{"mine"}}; },
     "%2 = kernel mine: the kernel has no body; make it with make_custom_kernel<Body>()"},
};

constexpr Damage kSourceDamage[] = {
    {"an input with an operand",
     [](Graph& g) {
       node(g, 1).what = InputNode{"z"};
       node(g, 1).operands = {{NodeId{0}, 0}};
       g.inputs.push_back(NodeId{1});
     },
     "%1 = input: has 1 operands, expected none; remove them"},
    {"an input with two results", [](Graph& g) { node(g, 0).results.push_back({}); },
     "%0 = input: has 2 results, expected 1; keep one type"},
    {"an input beyond the limits", [](Graph& g) { node(g, 0).results[0].shape = {-4}; },
     "%0 = input: the type is f32[-4], expected extents of 0 or more; correct the extent\n"
     "%2 = add: operand 0 is f32[-4], expected extents of 0 or more; correct the extent"},
    {"a constant without data", [](Graph& g) { node(g, 1).what = ConstantNode{}; },
     "%1 = constant: holds 0 bytes, expected 16 for f32[4]; give every element once"},
    {"a constant of another size", [](Graph& g) { node(g, 1).results[0].dtype = DType::kI8; },
     "%1 = constant: holds 16 bytes, expected 4 for i8[4]; give every element once\n"
     "%2 = add: operand 1 is i8[4], expected f32[4] like operand 0; insert a cast"},
    {"a constant without numbers", [](Graph& g) { node(g, 1).results[0].shape = {Dim("n")}; },
     "%1 = constant: the type is f32[n], expected dims that are numbers; give numbers\n"
     "%2 = add: operand 1 is f32[n], expected f32[4] like operand 0; insert a broadcast"},
    {"a constant without results", [](Graph& g) { node(g, 1).results.clear(); },
     "%1 = constant: has 0 results, expected 1; keep one type\n"
     "%2 = add: operand 1 is result 0 of %1, which has 0; name one that it has"},
};

constexpr Damage kInterfaceDamage[] = {
    {"an input that is not one", [](Graph& g) { g.inputs[0] = NodeId{2}; },
     "graph input 0 is %2, which is not an input node; list input nodes"},
    {"an input that there is not", [](Graph& g) { g.inputs.push_back(NodeId{99}); },
     "graph input 1 is %99, which is not an input node; list input nodes\n"
     "the graph lists 2 inputs and has 1 input nodes, expected the same number; list each once"},
    {"an input listed twice", [](Graph& g) { g.inputs.push_back(NodeId{0}); },
     "%0 = input: the name 'x' is taken; give every input its own\n"
     "the graph lists 2 inputs and has 1 input nodes, expected the same number; list each once"},
    {"an input that is not listed", [](Graph& g) { g.inputs.clear(); },
     "the graph lists 0 inputs and has 1 input nodes, expected the same number; list each once"},
    {"an input without a name", [](Graph& g) { std::get<InputNode>(node(g, 0).what).name.clear(); },
     "%0 = input: the name is empty; give every input a name"},
    {"no output", [](Graph& g) { g.outputs.clear(); }, "the graph has no output; name what it computes with output()"},
    {"an output without a name", [](Graph& g) { g.outputs[0].name.clear(); },
     "an output's name is empty; give every output a name"},
    {"two outputs of one name", [](Graph& g) { g.outputs[1].name = "y"; },
     "output 'y': the name is taken; give every output its own"},
    {"an output that there is not", [](Graph& g) { g.outputs[0].value = {NodeId{99}, 3}; },
     "output 'y': is result 3 of %99, which the graph does not have; name one that it has"},
    {"several at once, a line each",
     [](Graph& g) {
       g.outputs[1].name = "y";
       node(g, 2).operands.clear();
     },
     "%2 = add: 0 operands, expected 2 (x, y); pass the missing x, y\n"
     "output 'y': the name is taken; give every output its own"},
};

void expect_found(std::span<const Damage> cases) {
  for (const Damage& damage : cases) {
    CAPTURE(std::string(damage.claim));
    Graph graph = sound_graph();
    damage.damage(graph);
    CHECK(verify(graph).message() == std::string(damage.message));
  }
}

TEST_CASE("verify finds the mistake in a node") { expect_found(kNodeDamage); }
TEST_CASE("verify finds an unknown op") {
  Graph graph = sound_graph();
  std::get<OpNode>(node(graph, 2).what).op = static_cast<Op>(250);
  const std::string all = std::to_string(std::size(kAllOps));
  CHECK(verify(graph).message() == "%2 = op: op number 250, expected less than " + all + "; use a name of Op");
}
TEST_CASE("verify finds the mistake in an input or a constant") { expect_found(kSourceDamage); }
TEST_CASE("verify finds the mistake in a graph's interface") { expect_found(kInterfaceDamage); }

}  // namespace
}  // namespace millrace
