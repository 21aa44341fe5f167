// SPDX-License-Identifier: Apache-2.0
// The check of the random graphs finds mistakes in programs whose nodes are fused.
#include "tests/support/graphs/check_graph.h"

#include <doctest/doctest.h>

#include "millrace/graph/text.h"
#include "millrace/millrace.h"
#include "tests/reference/evaluate.h"
#include "tests/support/random/random_graph.h"

namespace millrace {
namespace {

using test::Values;

/// What each node gives, by the oracle.
Values evaluate_values(const Graph& graph, std::span<const reference::Tensor> inputs) {
  Values values;
  for (std::size_t i = 0; i < inputs.size(); ++i) values[{graph.inputs[i], 0}] = inputs[i];
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (const auto* constant = std::get_if<ConstantNode>(&graph.nodes[NodeId{i}].what)) {
      reference::Tensor tensor(graph.nodes[NodeId{i}].results[0]);
      tensor.bytes.assign(constant->data.begin(), constant->data.end());
      values[{NodeId{i}, 0}] = std::move(tensor);
    }
    const auto* op = std::get_if<OpNode>(&graph.nodes[NodeId{i}].what);
    if (op == nullptr) continue;
    std::vector<reference::Tensor> operands;
    for (const Value& operand : graph.nodes[NodeId{i}].operands) operands.push_back(values.at(operand));
    const auto results = reference::evaluate(op->op, op->attributes, operands);
    for (std::uint32_t r = 0; r < results.size(); ++r) values[{NodeId{i}, r}] = results[r];
  }
  return values;
}

/// A graph, its inputs, and the same with a zero where a sum has lost an element.
struct Loss {
  Graph graph;
  std::vector<reference::Tensor> inputs;

  explicit Loss(Graph g) : graph(std::move(g)), inputs(random_inputs(graph, 5, test::InputStyle::kReal)) {}

  /// check_outputs() of results to which element i of the first input has contributed nothing.
  std::string complaint(std::int64_t i) const {
    std::vector<reference::Tensor> fewer = inputs;
    reference::write_element(fewer[0].type.dtype, 0.0, fewer[0].element(i));
    const Values wrong = evaluate_values(graph, fewer);
    std::vector<reference::Tensor> found;
    for (const GraphOutput& output : graph.outputs) found.push_back(wrong.at(output.value));
    return test::check_outputs(graph, evaluate_values(graph, inputs), found);
  }
};

template <class F>
Loss loss(F&& result) {
  GraphBuilder builder("loss");
  const Tensor x = builder.input("x", DType::kF32, {3, 257}), w = builder.input("w", DType::kF32, {257, 4});
  builder.output("y", result(x, w));
  return Loss(builder.finish().value());
}

TEST_CASE("an element that a sum lost is found after the ops that are fused with the sum") {
  const Loss losses[] = {
      loss([](Tensor x, Tensor) { return exp(tanh(reduce_sum(x, {1}) * 0.01)); }),
      loss([](Tensor x, Tensor w) { return matmul(x, w) * 0.5 + 1.0; }),
      loss([](Tensor x, Tensor w) { return matmul(softmax(x), w); }),
      loss([](Tensor x, Tensor) { return sqrt(reduce_mean(x * x, {1})); }),
      loss([](Tensor x, Tensor) { return reduce_sum(cumulative_sum(x), {0}); }),
  };
  for (const Loss& each : losses) {
    CAPTURE(to_text(each.graph));
    std::size_t num_found = 0;
    for (std::int64_t i = 0; i < 3 * 257; i += 19) num_found += each.complaint(i) != "" ? 1 : 0;
    CHECK(num_found >= 39);  // of 41: an element may be near 0
  }
}

TEST_CASE("an output of an unsorted topk is right in any order of its rows, and wrong with another element") {
  GraphBuilder builder("unsorted");
  const auto [values, indices] = topk(builder.input("x", DType::kF32, {1, 6}), 3, {.sorted = false});
  builder.output("values", values);
  builder.output("indices", indices);
  const Graph graph = builder.finish().value();
  const std::vector<reference::Tensor> inputs = {
      reference::make_tensor<double>(DType::kF32, {1, 6}, {5, 1, 7, 2, 9, 3})};
  const auto complaint = [&](const std::vector<double>& found, const std::vector<double>& at) {
    const reference::Tensor outputs[] = {reference::make_tensor(DType::kF32, {1, 3}, found),
                                         reference::make_tensor(DType::kI64, {1, 3}, at)};
    return test::check_outputs(graph, evaluate_values(graph, inputs), outputs);
  };
  CHECK(complaint({9, 7, 5}, {4, 2, 0}) == "");
  CHECK(complaint({5, 9, 7}, {0, 4, 2}) == "");
  CHECK(
      complaint({5, 9, 7}, {0, 2, 4}) ==
      "%1 = topk, each row in one order: element 1: found 9 (0x41100000), expected 7 (0x40e00000): not the same bits");
  CHECK(complaint({9, 9, 7}, {4, 4, 2}) != "");
}

}  // namespace
}  // namespace millrace
