// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/graph/signature.h"
#include "tools/millrace/command.h"
#include "tools/millrace/graph_arguments.h"

namespace millrace::tool {
namespace {

Status check(const GraphArguments& arguments) {
  MILLRACE_TRY_ASSIGN(const Graph graph, read_graph(arguments));
  if (const Status refused = Signature::of(graph).status(); !refused.ok()) {  // by every run
    return {refused.code(), fmt::format("{}: {}", printable(arguments.file), refused.message())};
  }
  return write_text("",
                    fmt::format("{}: graph '{}' is good: inputs {}, outputs {}, nodes {}\n", printable(arguments.file),
                                printable(graph.name), graph.inputs.size(), graph.outputs.size(), graph.nodes.size()));
}

}  // namespace

Action add_check(CLI::App& app) {
  const auto arguments = std::make_shared<GraphArguments>();
  add_graph_file(app, *arguments);
  return [arguments] { return check(*arguments); };
}

}  // namespace millrace::tool
