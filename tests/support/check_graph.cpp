// SPDX-License-Identifier: Apache-2.0
#include "tests/support/check_graph.h"

#include <fmt/format.h>

#include "tests/op_cases.h"
#include "tests/reference/evaluate.h"
#include "tests/support/difference.h"
#include "tests/support/op_driver.h"
#include "tests/support/random_graph.h"
#include "tests/support/reference_graph.h"
#include "tests/support/run_graph.h"

namespace millrace::test {
namespace {

using reference::Tensor;

double max_ulp(Op op) {
  for (const OpCase& row : op_cases()) {
    if (row.op == op) return row.max_ulp;
  }
  return 0;
}

/// The graph with every op's results as its outputs, in the order of nodes.
Graph with_every_output(Graph graph) {
  graph.outputs.clear();
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (!std::holds_alternative<OpNode>(graph.nodes[NodeId{i}].what)) continue;
    for (std::uint32_t r = 0; r < graph.nodes[NodeId{i}].results.size(); ++r) {
      graph.outputs.push_back({fmt::format("v{}.{}", i, r), {NodeId{i}, r}});
    }
  }
  return graph;
}

Result<std::vector<Tensor>> compile_and_run(const Graph& graph, const CompileOptions& options,
                                            std::span<const Tensor> inputs, const SymbolValues& values) {
  MILLRACE_TRY_ASSIGN(const Program program, compile(graph, options));
  std::vector<DimBinding> dims;
  for (const Dim& dim : program.named_dims()) dims.push_back({dim.name(), values.at(dim.name())});
  return run_guarded(program, inputs, dims);
}

/// Each value of a run of with_every_output().
using Values = std::map<Value, Tensor>;

/// Whether a float sum, whose order a kernel may choose, is in a value's past.
std::vector<bool> has_sum_before(const Graph& graph) {
  std::vector<bool> has_sum;
  for (const Node& node : graph.nodes) {
    bool found = false;
    for (const Value& operand : node.operands) found |= has_sum[index_of(operand.node)];
    if (const auto* op = std::get_if<OpNode>(&node.what); op && !node.operands.empty()) {
      found |= is_float(graph.type(node.operands[0]).dtype) &&
               (has_trait(op->op, kReduction) || has_trait(op->op, kContraction));
    }
    has_sum.push_back(found);
  }
  return has_sum;
}

/// Each op against the oracle, on the operands that it had.
std::string check_nodes(const Graph& bound, const Values& values) {
  for (std::uint32_t i = 0; i < bound.nodes.size(); ++i) {
    const Node& node = bound.nodes[NodeId{i}];
    const auto* op = std::get_if<OpNode>(&node.what);
    if (op == nullptr) continue;
    std::vector<Tensor> operands, found;
    for (const Value& operand : node.operands) operands.push_back(values.at(operand));
    for (std::uint32_t r = 0; r < node.results.size(); ++r) found.push_back(values.at({NodeId{i}, r}));
    const OpTrial trial{op->op, op->attributes, operands, max_ulp(op->op), {}, ""};
    const std::string wrong =
        compare_results(trial, std::move(found), reference::evaluate(op->op, op->attributes, operands));
    if (!wrong.empty()) return fmt::format("%{} = {}: {}", i, to_text(op->op), wrong);
  }
  return "";
}

/// Where bytes of two runs differ; NaN payloads may.
std::string check_equal(const Graph& graph, const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                        const std::vector<bool>& is_compared) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!is_compared[i]) continue;
    const std::string wrong = find_difference(found[i], expected[i], {});
    if (!wrong.empty()) return fmt::format("output {}: {}", graph.outputs[i].name, wrong);
  }
  return "";
}

}  // namespace

std::string check_graph(const Graph& graph, const SymbolValues& values, const CompileOptions& options,
                        std::uint64_t seed) {
  const Graph bound = bind_graph(graph, values);
  const std::vector<Tensor> inputs = random_inputs(bound, seed);
  const Graph every = with_every_output(graph);
  Values computed;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) computed[{graph.inputs[i], 0}] = inputs[i];
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const auto* constant = std::get_if<ConstantNode>(&graph.nodes[NodeId{i}].what);
    if (constant == nullptr) continue;
    Tensor tensor(graph.nodes[NodeId{i}].results[0]);
    tensor.bytes = *constant->data;
    computed[{NodeId{i}, 0}] = std::move(tensor);
  }
  if (!every.outputs.empty()) {
    const Result<std::vector<Tensor>> results = compile_and_run(every, options, inputs, values);
    if (!results.ok()) return "every value: " + results.status().message();
    for (std::size_t i = 0; i < results->size(); ++i) computed[every.outputs[i].value] = (*results)[i];
    if (std::string wrong = check_nodes(bound, computed); !wrong.empty()) return "every value: " + wrong;
  }
  const Result<std::vector<Tensor>> found = compile_and_run(graph, options, inputs, values);
  if (!found.ok()) return "as it is: " + found.status().message();
  const std::vector<bool> has_sum = has_sum_before(graph);
  std::vector<Tensor> unfused;
  std::vector<bool> is_exact;
  for (const GraphOutput& output : graph.outputs) {
    unfused.push_back(computed.at(output.value));
    is_exact.push_back(!has_sum[index_of(output.value.node)]);
  }
  if (std::string wrong = check_equal(graph, *found, unfused, is_exact); !wrong.empty()) {
    return "fused against unfused: " + wrong;
  }
  // mul_add rounds once where there is FMA, and in the interpreter.
  if (!TargetSpec::parse(options.device)->has_fma()) return "";
  CompileOptions interpreted = options;
  interpreted.lowering.compile.force_generator = "interpreter";
  const Result<std::vector<Tensor>> reference = compile_and_run(graph, interpreted, inputs, values);
  if (!reference.ok()) return "interpreted: " + reference.status().message();
  // The xbyak generator sums in an order of its own.
  std::string wrong = check_equal(graph, *found, *reference, is_exact);
  return wrong.empty() ? "" : "against the interpreter: " + wrong;
}

}  // namespace millrace::test
