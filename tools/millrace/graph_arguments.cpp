// SPDX-License-Identifier: Apache-2.0
#include "tools/millrace/graph_arguments.h"

#include <cstdio>

#include <fmt/format.h>

#include "millrace/base/file.h"
#include "millrace/base/printable.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/text.h"
#include "millrace/hal/device.h"
#include "millrace/jit/kernel_compiler.h"
#include "tools/millrace/progress_line.h"
#include "tools/millrace/tool_context.h"

namespace millrace::tool {
void add_graph_file(CLI::App& app, GraphArguments& arguments) {
  app.add_option("FILE", arguments.file, "The graph, as text.")->type_name("")->required();
}

void add_target(CLI::App& app, GraphArguments& arguments, const char* flag) {
  app.add_option(flag, arguments.target,
                 "cpu (the host's best), cpu:avx2, cpu:threads=4 (or cores), hip (an AMD GPU), sim:gfx1100\n"
                 "(one simulated), isa:gfx1100 (its machine code, executed), ...: 'millrace devices' lists all.")
      ->type_name("TARGET");
  app.add_option("--generator", arguments.generator, "Force a code generator: xbyak, llvm or interpreter.")
      ->type_name("NAME");
  app.add_option_function<std::string>(
         "--order",
         [&arguments](const std::string& text) {
           const Result<ScheduleOrder> order = parse_schedule_order(text);
           if (!order.ok()) throw CLI::ValidationError("--order", order.status().message());
           arguments.order = *order;
         },
         "The order of the schedule: strict (the graph's), least-peak or most-concurrency.")
      ->type_name("ORDER");
}

Result<Graph> read_graph(const GraphArguments& arguments) { return millrace::read_graph(arguments.file); }

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

Result<LoweredGraph> lower_graph(Graph graph, const GraphArguments& arguments, const Context& context) {
  MILLRACE_TRY_ASSIGN(const Target target, find_target(context, arguments.target));
  LowerOptions options;
  options.compile.force_generator = arguments.generator;
  return millrace::lower_graph(std::move(graph), target, options, {}, arguments.order);
}

void write_notice(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

Status write_text(const std::string& path, std::string_view text) {
  return path.empty() ? write_standard_output(text) : write_file(fmt::format("'{}'", printable(path)), path, text);
}

}  // namespace millrace::tool
