// SPDX-License-Identifier: Apache-2.0
// `millrace dump`: prints a graph at any stage of compiling, as text, as a picture or as code.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "millrace/graph/code_object.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/text.h"
#include "millrace/hal/host_object.h"
#include "millrace/jit/kernel_compiler.h"
#include "tools/millrace/command.h"
#include "tools/millrace/graph_arguments.h"
#include "tools/millrace/stage_dot.h"
#include "tools/millrace/tool_context.h"

namespace millrace::tool {
namespace {

struct Arguments {
  GraphArguments graph;
  std::string stage, format = "text", output;
  std::optional<std::uint32_t> kernel;
  bool line_tables = false;
};

const std::map<std::string, Stage> kStages = {
    {"graph", Stage::kGraph}, {"dispatch", Stage::kDispatch}, {"kernels", Stage::kKernels},
    {"plan", Stage::kPlan},   {"schedule", Stage::kSchedule}, {"commands", Stage::kCommands},
};
const std::map<std::string, ListingKind> kListings = {
    {"llvm", ListingKind::kLlvmIr}, {"asm", ListingKind::kAssembly}, {"object", ListingKind::kObject}};

/// The stages that can be drawn.
const std::map<std::string, std::string (*)(const LoweredGraph&)> kDotStages = {
    {"graph", [](const LoweredGraph& lowered) { return graph_dot(lowered.dispatch.graph); }},
    {"dispatch", [](const LoweredGraph& lowered) { return dispatch_dot(lowered.dispatch); }},
    {"schedule", [](const LoweredGraph& lowered) { return schedule_dot(lowered.schedule); }},
};

Result<std::string> list_kernel(const PlannedKernel& kernel, const Context& context, const TargetSpec& spec,
                                ListingKind kind) {
  for (const auto& generator : context.generators) {
    if (generator->name() == kernel.generator) return generator->listing(kernel, spec, kind);
  }
  return internal_error(fmt::format("generator '{}' planned a kernel but is not in the context", kernel.generator));
}

/// Links all kernels into one object. For a GPU, a driver can load it without further linking.
Result<std::vector<std::byte>> link_kernels(const LoweredGraph& lowered, const Target& target) {
  if (target.spec().is_gpu()) return make_code_object(lowered, target);
  std::vector<ExecutableImage> images;
  for (const PlannedKernel& kernel : lowered.schedule.kernels) {
    const KernelCompiler* generator = target.find_generator(kernel.generator);
    if (!generator->emits_code()) return generator->listing(kernel, target.spec(), ListingKind::kObject).status();
    MILLRACE_TRY_ASSIGN(ExecutableImage image, generator->emit(kernel, target.spec()));
    images.push_back(std::move(image));
  }
  return link_host_images(images);
}

/// The listing of one kernel, or of all with a title line above each. A kernel that cannot be listed shows the reason
/// instead; if no kernel can be listed, the first reason is the error.
Result<std::string> list_kernels(const LoweredGraph& lowered, const Context& context, const Target& target,
                                 const Arguments& arguments) {
  const TargetSpec& spec = target.spec();
  const auto& kernels = lowered.schedule.kernels;
  const ListingKind kind = kListings.at(arguments.stage);
  if (arguments.kernel) {
    if (*arguments.kernel >= kernels.size()) {
      return out_of_range(fmt::format("--kernel {}: the graph has {} kernel{}, counted from 0; say a lower number",
                                      *arguments.kernel, kernels.size(), kernels.size() == 1 ? "" : "s"));
    }
    return list_kernel(kernels[KernelIndex{*arguments.kernel}], context, spec, kind);
  }
  if (kind == ListingKind::kObject && kernels.empty()) {
    return failed_precondition("--stage object: the graph has no kernel, so there is no object");
  }
  if (kind == ListingKind::kObject) {
    MILLRACE_TRY_ASSIGN(const std::vector<std::byte> object, link_kernels(lowered, target));
    return std::string(reinterpret_cast<const char*>(object.data()), object.size());
  }
  std::string text;
  Status failure;
  std::size_t listed = 0;
  for (std::uint32_t i = 0; i < kernels.size(); ++i) {
    const PlannedKernel& kernel = kernels[KernelIndex{i}];
    const Result<std::string> listing = list_kernel(kernel, context, spec, kind);
    text += fmt::format("; kernel {}: {} by {}\n", i, kernel.name, kernel.generator);
    text += listing.ok() ? *listing + "\n" : fmt::format("; {}\n\n", listing.status().message());
    if (listing.ok()) ++listed;
    if (!listing.ok() && failure.ok()) failure = listing.status();
  }
  if (listed == 0 && !failure.ok()) return failure;
  return text;
}

Status dump(const Arguments& arguments) {
  MILLRACE_TRY_ASSIGN(Graph graph, read_graph(arguments.graph));
  const std::shared_ptr<const Context> context = make_context({.llvm = {.line_tables = arguments.line_tables}});
  MILLRACE_TRY_ASSIGN(const Target target, find_target(*context, arguments.graph.target));
  MILLRACE_TRY_ASSIGN(const LoweredGraph lowered,
                      lower_graph(std::move(graph), arguments.graph, *context, arguments.stage != "graph"));
  const Graph& result = lowered.dispatch.graph;
  if (arguments.format == "dot") return write_text(arguments.output, kDotStages.at(arguments.stage)(lowered));
  // A graph in a file needs all its constants, so that it can be read again.
  if (arguments.stage == "graph" && !arguments.output.empty()) return write_graph(result, arguments.output);
  if (const auto stage = kStages.find(arguments.stage); stage != kStages.end()) {
    return write_text(arguments.output, to_text(lowered, stage->second));
  }
  if (arguments.stage == "object" && arguments.output.empty() && isatty(STDOUT_FILENO) == 1) {
    return invalid_argument("--stage object: standard output is a terminal; say a file, with -o");
  }
  MILLRACE_TRY_ASSIGN(const std::string text, list_kernels(lowered, *context, target, arguments));
  return write_text(arguments.output, text);
}

void check_usage(const Arguments& arguments) {
  if (arguments.format == "dot" && !kDotStages.contains(arguments.stage)) {
    throw CLI::ValidationError("--format dot", "is for the stages graph, dispatch and schedule");
  }
  if (arguments.kernel && !kListings.contains(arguments.stage)) {
    throw CLI::ValidationError("--kernel", "is for the stages llvm, asm and object");
  }
  if (arguments.line_tables && !kListings.contains(arguments.stage)) {
    throw CLI::ValidationError("--line-tables", "is for the stages llvm, asm and object");
  }
}

}  // namespace

Action add_dump(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  add_graph_file(app, arguments->graph);
  app.add_option("--stage", arguments->stage,
                 "graph (after the passes), dispatch, kernels, plan, schedule,\ncommands, llvm, asm or object.")
      ->type_name("STAGE")
      ->required()
      ->check(CLI::IsMember({"graph", "dispatch", "kernels", "plan", "schedule", "commands", "llvm", "asm", "object"})
                  .description(""));
  add_target(app, arguments->graph, "--target,--device");
  app.add_option("--format", arguments->format, "text, or dot for Graphviz (graph, dispatch and schedule).")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "dot"}).description(""));
  app.add_option("--kernel", arguments->kernel, "List only the code of this kernel: its index in the schedule.")
      ->type_name("N");
  app.add_flag("--line-tables", arguments->line_tables,
               "Add line tables to code for a GPU: each instruction then names the line of the\nkernel's text that it "
               "comes from.");
  app.add_option(
         "-o,--output", arguments->output,
         "Write to FILE, not to standard output. Large constants of a graph\ngo to a second file, FILE.safetensors.")
      ->type_name("FILE");
  app.callback([arguments] { check_usage(*arguments); });
  return [arguments] { return dump(*arguments); };
}

}  // namespace millrace::tool
