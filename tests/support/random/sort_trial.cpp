// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random/sort_trial.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "millrace/graph/text.h"
#include "millrace/millrace.h"
#include "tests/reference/evaluate.h"
#include "tests/support/graphs/run_graph.h"
#include "tests/support/ops/op_driver.h"

namespace millrace::test {
namespace {

constexpr std::int64_t kMaxPrinted = 80;

Shape shape_of(const SortTrial& trial) {
  if (!trial.has_dynamic_extents) return trial.x.type.shape;
  std::vector<SizeExpr> dims;
  for (std::size_t d = 0; d < trial.x.extents().size(); ++d) {
    dims.emplace_back(d == trial.axis ? Dim("n").at_most(trial.max_n) : Dim(fmt::format("rows{}", d)));
  }
  return Shape(dims);
}

std::string element_text(const reference::Tensor& tensor, std::int64_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, tensor.element(i), size_bytes(tensor.type.dtype));
  return fmt::format("{:#x}", bits);
}

Result<std::vector<reference::Tensor>> run_in_graph(const SortTrial& trial, const std::string& device,
                                                    ProgramCache& programs) {
  const Graph graph = graph_of(trial);
  const std::string key = device + to_text(graph);
  auto found = programs.find(key);
  if (found == programs.end()) {
    CompileOptions options;
    options.context = test_context();
    options.device = device;
    MILLRACE_TRY_ASSIGN(const Program program, compile(graph, options));
    found = programs.emplace(key, program).first;
  }
  const DimBinding k{"k", trial.k};
  return run_guarded(found->second, {&trial.x, 1}, {&k, trial.has_dynamic_k ? 1u : 0u}, 1);
}

Result<std::vector<reference::Tensor>> run_alone(const SortTrial& trial, const std::string& device) {
  OpRunOptions options;
  MILLRACE_TRY_ASSIGN(options.run.target, TargetSpec::parse(device));
  options.strides = trial.strides;
  options.guard = trial.guard;
  options.used_results = trial.used_results;
  MILLRACE_TRY_ASSIGN(OpRun run, run_op(trial.op, attributes_of(trial), {&trial.x, 1}, options));
  return std::move(run.results);
}

}  // namespace

Attributes attributes_of(const SortTrial& trial) {
  const auto axis = static_cast<std::int64_t>(trial.axis);
  if (trial.op == Op::sort) return SortAttrs{.axis = axis, .descending = trial.is_descending};
  return TopKAttrs{.k = trial.k, .axis = axis, .largest = trial.is_descending, .sorted = trial.is_sorted};
}

Graph graph_of(const SortTrial& trial) {
  GraphBuilder graph("sorts");
  const Tensor x = graph.input("x", trial.x.type.dtype, shape_of(trial));
  Attributes attributes = attributes_of(trial);
  if (trial.has_dynamic_k) std::get<TopKAttrs>(attributes).k = Dim("k").at_most(trial.max_k);
  const std::vector<Tensor> results = graph.op(trial.op, {&x, 1}, attributes);
  if ((trial.used_results & 1) != 0) graph.output("values", results[0]);
  if ((trial.used_results & 2) != 0) graph.output("indices", results[1]);
  return graph.finish().value();
}

std::string to_text(const SortTrial& trial) {
  std::string text = to_text(graph_of(trial));
  constexpr std::string_view kStrides[] = {"dense", "padded", "spread"};
  text += fmt::format("x: {} {}", kStrides[static_cast<std::size_t>(trial.strides)], trial.x.type.to_text());
  if (trial.op == Op::topk) text += fmt::format(", k {}", trial.k);
  if (trial.x.num_elements() > kMaxPrinted) return text + "\n";
  std::vector<std::string> elements;
  for (std::int64_t i = 0; i < trial.x.num_elements(); ++i) elements.push_back(element_text(trial.x, i));
  return text + fmt::format(", bits {}\n", fmt::join(elements, " "));
}

std::vector<reference::Tensor> expected_of(const SortTrial& trial) {
  return reference::evaluate(trial.op, attributes_of(trial), {&trial.x, 1});
}

std::string check_sort(const SortTrial& trial, const std::vector<reference::Tensor>& expected,
                       const std::string& device, ProgramCache& programs) {
  auto found = trial.strides == Strides::kDense ? run_in_graph(trial, device, programs) : run_alone(trial, device);
  if (!found.ok()) return found.status().message();
  OpTrial judged = {trial.op, attributes_of(trial), {&trial.x, 1}, 0, {}, ""};
  judged.options.used_results = trial.used_results;
  return compare_results(judged, *std::move(found), expected);
}

}  // namespace millrace::test
