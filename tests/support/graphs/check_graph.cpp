// SPDX-License-Identifier: Apache-2.0
#include "tests/support/graphs/check_graph.h"

#include <map>
#include <optional>

#include <fmt/format.h>

#include "millrace/graph/program_variant.h"
#include "tests/op_cases.h"
#include "tests/reference/ranges.h"
#include "tests/support/difference.h"
#include "tests/support/graphs/reference_graph.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/ops/op_driver.h"
#include "tests/support/random/random_graph.h"

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

using reference::Range;
using Ranges = std::map<Value, Range>;

/// What each value may be in a program that shows the outputs alone. Functions have the bits that `computed` shows.
Ranges ranges_of(const Graph& bound, const Values& computed) {
  Ranges ranges;
  for (std::uint32_t i = 0; i < bound.nodes.size(); ++i) {
    const Node& node = bound.nodes[NodeId{i}];
    const auto* op = std::get_if<OpNode>(&node.what);
    if (op == nullptr) {
      ranges[{NodeId{i}, 0}] = reference::known(computed.at({NodeId{i}, 0}));
      continue;
    }
    std::vector<const Range*> operands;
    std::vector<Tensor> shown;
    for (const Value& operand : node.operands) operands.push_back(&ranges.at(operand));
    for (std::uint32_t r = 0; r < node.results.size(); ++r) shown.push_back(computed.at({NodeId{i}, r}));
    const std::vector<Range> results =
        reference::evaluate_ranges({op->op, op->attributes, operands, max_ulp(op->op), shown});
    for (std::uint32_t r = 0; r < node.results.size(); ++r) ranges[{NodeId{i}, r}] = results[r];
  }
  return ranges;
}

/// The outputs that an unsorted topk gives, values and indices, are rows in any order: with known keys, those of the
/// oracle in one order. `found` are the graph's outputs.
std::string check_unsorted(const Graph& bound, NodeId id, const Ranges& ranges, std::span<const Tensor> found) {
  const Node& node = bound.nodes[id];
  const auto& op = std::get<OpNode>(node.what);
  const Range& keys = ranges.at(node.operands[0]);
  if (!keys.all_known()) return "";  // find_outside() has seen them
  const std::vector<Tensor> all = reference::evaluate(op.op, op.attributes, {&keys.low, 1});
  std::vector<Tensor> results, expected;
  for (std::uint32_t r = 0; r < 2; ++r) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (bound.outputs[i].value != Value{id, r}) continue;
      results.push_back(found[i]);
      expected.push_back(all[r]);
      break;
    }
  }
  const std::int64_t axis = std::get<TopKAttrs>(op.attributes).axis;
  order_rows(results, axis);
  order_rows(expected, axis);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string wrong = find_difference(results[i], expected[i], {});
    if (!wrong.empty()) return fmt::format("%{} = {}, each row in one order: {}", index_of(id), to_text(op.op), wrong);
  }
  return "";
}

void count_elements(const Range& range, ElementTally& tally) {
  for (std::int64_t i = 0; i < range.low.num_elements(); ++i) {
    ++(range.is_known(i) ? tally.known : range.is_open(i) ? tally.open : tally.bounded);
  }
}

}  // namespace

std::string check_outputs(const Graph& bound, const Values& computed, std::span<const Tensor> found,
                          ElementTally* tally) {
  const Ranges ranges = ranges_of(bound, computed);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Value& value = bound.outputs[i].value;
    if (tally != nullptr) count_elements(ranges.at(value), *tally);
    const std::string wrong = find_outside(found[i], ranges.at(value));
    if (!wrong.empty()) return fmt::format("output {}: {}", bound.outputs[i].name, wrong);
    const auto* op = std::get_if<OpNode>(&bound.nodes[value.node].what);
    const auto* topk = op == nullptr ? nullptr : std::get_if<TopKAttrs>(&op->attributes);
    if (topk == nullptr || topk->sorted) continue;
    if (std::string mistake = check_unsorted(bound, value.node, ranges, found); !mistake.empty()) return mistake;
  }
  return "";
}

namespace {

/// A graph, compiled in each of its forms.
struct Forms {
  std::optional<Program> every, fused, interpreted;
};

Result<Forms> compile_forms(const Graph& graph, const Graph& every, const CompileOptions& options) {
  Forms forms;
  if (!every.outputs.empty()) {
    MILLRACE_TRY_ASSIGN(forms.every, compile(every, options));
  }
  MILLRACE_TRY_ASSIGN(forms.fused, compile(graph, options));
  // mul_add rounds once where there is FMA, and in the interpreter.
  const TargetSpec& target = forms.fused->variants().front().target;
  const bool is_interpreted = target.is_simulated() && options.lowering.compile.force_generator.empty();
  if (!target.has_fma() || is_interpreted || target.family == "amdgpu") return forms;
  CompileOptions interpreted = options;
  interpreted.lowering.compile.force_generator = "interpreter";
  MILLRACE_TRY_ASSIGN(forms.interpreted, compile(graph, interpreted));
  return forms;
}

Result<std::vector<Tensor>> run_form(const Program& program, std::span<const Tensor> inputs,
                                     const SymbolValues& values) {
  std::vector<DimBinding> dims;
  for (const Dim& dim : program.named_dims()) dims.push_back({dim.name(), values.at(dim.name())});
  return run_guarded(program, inputs, dims);
}

/// Inputs and constants, which no run shows.
Values leaves_of(const Graph& graph, const Graph& bound, std::span<const Tensor> inputs) {
  Values values;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) values[{graph.inputs[i], 0}] = inputs[i];
  for (std::uint32_t i = 0; i < bound.nodes.size(); ++i) {
    const auto* constant = std::get_if<ConstantNode>(&bound.nodes[NodeId{i}].what);
    if (constant == nullptr) continue;
    Tensor tensor(bound.nodes[NodeId{i}].results[0]);
    tensor.bytes.assign(constant->data.begin(), constant->data.end());
    values[{NodeId{i}, 0}] = std::move(tensor);
  }
  return values;
}

}  // namespace

std::string check_graph(const Graph& graph, const SymbolValues& values, const CompileOptions& options,
                        std::uint64_t seed, ElementTally* tally) {
  const Graph bound = bind_graph(graph, values), every = with_every_output(graph);
  const Result<Forms> forms = compile_forms(graph, every, options);
  if (!forms.ok()) return forms.status().message();
  for (const InputStyle style : kInputStyles) {
    const std::vector<Tensor> inputs = random_inputs(bound, seed, style);
    Values computed = leaves_of(graph, bound, inputs);
    if (forms->every) {
      const Result<std::vector<Tensor>> results = run_form(*forms->every, inputs, values);
      if (!results.ok()) return "every value: " + results.status().message();
      for (std::size_t i = 0; i < results->size(); ++i) computed[every.outputs[i].value] = (*results)[i];
      if (std::string wrong = check_nodes(bound, computed); !wrong.empty()) return "every value: " + wrong;
    }
    for (const auto& [name, program] : {std::pair{"as it is", &forms->fused}, {"interpreted", &forms->interpreted}}) {
      if (!*program) continue;
      const Result<std::vector<Tensor>> found = run_form(**program, inputs, values);
      if (!found.ok()) return fmt::format("{}: {}", name, found.status().message());
      if (std::string wrong = check_outputs(bound, computed, *found, tally); !wrong.empty()) {
        return fmt::format("{}: {}", name, wrong);
      }
    }
  }
  return "";
}

}  // namespace millrace::test
