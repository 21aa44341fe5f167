// SPDX-License-Identifier: Apache-2.0
// What all commands that take a graph share: arguments, reading, compiling and writing.
#include "tools/millrace/graph_arguments.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include <fmt/format.h>

#include "millrace/base/file.h"
#include "millrace/base/printable.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/onnx.h"
#include "millrace/graph/text.h"
#include "millrace/hal/device.h"
#include "millrace/jit/kernel_compiler.h"
#include "tools/millrace/progress_line.h"
#include "tools/millrace/tool_context.h"

namespace millrace::tool {
void add_graph_file(CLI::App& app, GraphArguments& arguments) {
  app.add_option("FILE", arguments.file, kFileHelp)->type_name("")->required();
}

void add_order(CLI::App& app, ScheduleOrder& order) {
  app.add_option_function<std::string>(
         "--order",
         [&order](const std::string& text) {
           const Result<ScheduleOrder> parsed = parse_schedule_order(text);
           if (!parsed.ok()) throw CLI::ValidationError("--order", parsed.status().message());
           order = *parsed;
         },
         "The order of the schedule: strict (the graph's), min-peak or max-concurrency.")
      ->type_name("ORDER");
}

void add_target(CLI::App& app, GraphArguments& arguments, const char* flag) {
  app.add_option(flag, arguments.target, kTargetHelp)->type_name("TARGET");
  app.add_option("--generator", arguments.generator, "Force a code generator: xbyak, llvm or interpreter.")
      ->type_name("NAME");
  add_order(app, arguments.order);
}

bool is_standard_input(const std::string& file) { return file == "-"; }

std::string shown_file(const std::string& file) { return is_standard_input(file) ? "standard input" : printable(file); }

namespace {

Result<Graph> import_model(const std::string& file) {
  MILLRACE_TRY_ASSIGN(OnnxModel model, import_onnx(file));
  for (const std::string& note : model.notes) write_notice(fmt::format("{}: {}\n", shown_file(file), note));
  return std::move(model.graph);
}

}  // namespace

Result<Graph> read_graph(const GraphArguments& arguments) {
  if (arguments.file.ends_with(".onnx")) return import_model(arguments.file);
  if (!is_standard_input(arguments.file)) return millrace::read_graph(arguments.file);
  MILLRACE_TRY_ASSIGN(const std::string text, read_text(arguments.file));
  return parse_graph(text, {.name = "standard input", .directory = "."});
}

Result<std::string> read_text(const std::string& file) {
  MILLRACE_TRY_ASSIGN(const std::vector<std::byte> bytes, is_standard_input(file)
                                                              ? read_standard_input("standard input")
                                                              : read_file(shown_file(file), file));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<Program> compile_graph(Graph graph, const GraphArguments& arguments, std::shared_ptr<Device> device) {
  ProgressLine line(stderr);
  CompileOptions options;
  options.context = make_context_for(arguments.target);
  options.device = arguments.target;
  options.on_device = std::move(device);
  options.lowering.compile.force_generator = arguments.generator;
  options.order = arguments.order;
  options.progress = [&](const CompileProgress& progress) { line.show(progress); };
  return compile(std::move(graph), options);
}

Result<LoweredGraph> lower_graph(Graph graph, const GraphArguments& arguments, const Context& context, bool prepares) {
  MILLRACE_TRY_ASSIGN(const Target target, find_target(context, arguments.target));
  LowerOptions options;
  options.compile.force_generator = arguments.generator;
  PassOptions passes;
  // A program that launches a GPU's kernels itself, as explain describes, has no step that prepares constants.
  const bool is_launched = target.spec().is_gpu() && !target.spec().is_simulated();
  if (!prepares || is_launched) passes.max_prepared_bytes = 0;
  return millrace::lower_graph(std::move(graph), target, options, passes, arguments.order);
}

void write_notice(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

Status write_text(const std::string& path, std::string_view text) {
  return path.empty() ? write_standard_output(text) : write_file(fmt::format("'{}'", printable(path)), path, text);
}

}  // namespace millrace::tool
