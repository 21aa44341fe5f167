// SPDX-License-Identifier: Apache-2.0
// `millrace check`: reads and verifies a graph, and on request checks whether a target has kernels for it.
#include <CLI/CLI.hpp>
#include <memory>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/signature.h"
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

Status check(const GraphArguments& arguments) {
  MILLRACE_TRY_ASSIGN(const Graph graph, read_graph(arguments));
  if (const Status refused = Signature::of(graph).status(); !refused.ok()) {  // every run would refuse it
    return {refused.code(), fmt::format("{}: {}", shown_file(arguments.file), refused.message())};
  }
  const std::string verdict =
      fmt::format("{}: graph '{}' is valid: inputs {}, outputs {}, nodes {}", shown_file(arguments.file),
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
  return [arguments] { return check(*arguments); };
}

}  // namespace millrace::tool
