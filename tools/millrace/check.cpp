// SPDX-License-Identifier: Apache-2.0
// `millrace check`: reads and verifies a graph or a loop kernel, and on request checks whether a target has kernels for
// it.
#include <CLI/CLI.hpp>
#include <memory>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/graph/builder.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/signature.h"
#include "millrace/jit/loop_kernel.h"
#include "millrace/ops/op_def.h"
#include "tools/millrace/command.h"
#include "tools/millrace/graph_arguments.h"
#include "tools/millrace/tool_context.h"

namespace millrace::tool {
namespace {

/// Checks that each node has a kernel for the target or device, without generating code. Empty without a target.
Result<std::string> lowered_text(Graph graph, const GraphArguments& arguments) {
  if (arguments.target.empty()) return std::string();
  const std::shared_ptr<const Context> context = make_context();
  MILLRACE_TRY_ASSIGN(const Target target, find_target(*context, arguments.target));
  MILLRACE_TRY_ASSIGN(const LoweredGraph lowered, lower_graph(std::move(graph), arguments, *context));
  return fmt::format("; for {}: dispatches {}, kernels {}", target.to_text(), lowered.report.num_dispatches,
                     lowered.report.num_kernels);
}

/// A graph with one node, the loop kernel in the file. Its operands are inputs, its results are outputs.
Result<Graph> read_kernel(const GraphArguments& arguments) {
  MILLRACE_TRY_ASSIGN(const std::string text, read_text(arguments.file));
  MILLRACE_TRY_ASSIGN(LoopKernel kernel, parse_loop_kernel(text, shown_file(arguments.file)));
  std::vector<TensorType> operands;
  for (const KernelTensor& operand : kernel.operands) operands.push_back(operand.type);
  if (const Status refused = infer_nest(kernel, operands).status(); !refused.ok()) {
    return Status(refused.code(), fmt::format("{}: {}", shown_file(arguments.file), refused.message()));
  }
  GraphBuilder graph(kernel.name);
  std::vector<Tensor> inputs;
  for (const KernelTensor& operand : kernel.operands) {
    inputs.push_back(graph.input(operand.name, operand.type.dtype, operand.type.shape));
  }
  const std::vector<KernelTensor> results = kernel.results;
  const KernelResults tensors = graph.kernel(std::move(kernel), inputs);
  for (std::size_t i = 0; i < results.size(); ++i) graph.output(results[i].name, tensors[i]);
  Result<Graph> built = graph.finish();
  if (built.ok()) return built;
  return Status(built.status().code(), fmt::format("{}: {}", shown_file(arguments.file), built.status().message()));
}

Status check(const GraphArguments& arguments, bool is_kernel) {
  MILLRACE_TRY_ASSIGN(const Graph graph, is_kernel ? read_kernel(arguments) : read_graph(arguments));
  if (const Status refused = Signature::of(graph).status(); !refused.ok()) {  // every run would refuse it
    return {refused.code(), fmt::format("{}: {}", shown_file(arguments.file), refused.message())};
  }
  const std::string verdict =
      is_kernel ? fmt::format("{}: kernel '{}' is valid: operands {}, results {}", shown_file(arguments.file),
                              printable(graph.name), graph.inputs.size(), graph.outputs.size())
                : fmt::format("{}: graph '{}' is valid: inputs {}, outputs {}, nodes {}", shown_file(arguments.file),
                              printable(graph.name), graph.inputs.size(), graph.outputs.size(), graph.nodes.size());
  MILLRACE_TRY_ASSIGN(const std::string lowered, lowered_text(graph, arguments));
  return write_text("", verdict + lowered + "\n");
}

}  // namespace

Action add_check(CLI::App& app) {
  const auto arguments = std::make_shared<GraphArguments>();
  arguments->target.clear();  // none, unless one is given
  add_graph_file(app, *arguments);
  add_target(app, *arguments, "--target,--device");
  const auto is_kernel = std::make_shared<bool>(false);
  app.add_flag("--kernel", *is_kernel, "FILE holds a loop kernel, as in a graph's kernel block, not a graph.");
  return [arguments, is_kernel] { return check(*arguments, *is_kernel); };
}

}  // namespace millrace::tool
