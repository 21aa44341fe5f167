// SPDX-License-Identifier: Apache-2.0
// `millrace run`: compiles a graph and runs it, with files or generated elements as inputs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "tools/millrace/command.h"
#include "tools/millrace/counts.h"
#include "tools/millrace/dims.h"
#include "tools/millrace/graph_arguments.h"
#include "tools/millrace/print_array.h"
#include "tools/millrace/run_arguments.h"
#include "tools/millrace/tool_context.h"
#include "tools/millrace/trace.h"

namespace millrace::tool {
namespace {

struct Arguments {
  GraphArguments graph;
  InputArguments inputs;
  std::vector<std::string> outputs;
  std::string trace;
  bool counts = false;
  std::optional<std::uint64_t> seed;
  std::uint32_t repeat = 1;
};

struct OutputFile {
  std::size_t output = 0;  // in the program's order
  std::string path;
};

namespace fs = std::filesystem;

/// The file to which a path leads. It need not exist yet: a link may lead to a missing file.
fs::path resolved(fs::path path, std::error_code& error) {
  constexpr int kMaxLinks = 40;  // as many as Linux follows
  for (int i = 0; i < kMaxLinks && !error; ++i) {
    path = fs::weakly_canonical(fs::absolute(path, error), error);
    std::error_code no_link;
    const fs::path target = fs::read_symlink(path, no_link);
    if (no_link) break;
    path = path.parent_path() / target;
  }
  return path;
}

/// Finds paths that would overwrite each other, including through links.
class TakenFiles {
 public:
  /// If an earlier path leads to the same file, returns the output of that path. Otherwise records the file for
  /// `output`. Returns nothing for a device, which may receive several outputs, and for a path that cannot be resolved:
  /// writing to that path fails later.
  std::optional<std::size_t> take(const std::string& path, std::size_t output) {
    std::error_code error;
    const fs::path file = resolved(path, error);
    if (error) return {};
    const auto [taken, is_new] = outputs_.try_emplace(file.native(), output);
    if (is_new || fs::is_other(fs::status(file, error))) return {};
    return taken->second;
  }

 private:
  std::map<std::string, std::size_t> outputs_;  // keyed by resolved path
};

/// Parses --output arguments. Refuses a trace that would go to an output's file.
Result<std::vector<OutputFile>> parse_outputs(const std::vector<Argument>& outputs,
                                              const std::vector<std::string>& arguments, const std::string& trace) {
  std::vector<OutputFile> files;
  std::set<std::string> given;
  TakenFiles taken_files;
  for (const std::string& argument : arguments) {
    const auto [name, value] = split_assignment(argument);
    const auto output = std::ranges::find(outputs, name, &Argument::name);
    if (output == outputs.end()) {
      return not_found(fmt::format("--output {}: the graph has no output '{}'; it has: {}", printable(argument),
                                   printable(name), names_text(outputs)));
    }
    if (value.front() != '@' || value.size() == 1) {
      return invalid_argument(
          fmt::format("--output {}: found '{}', expected @FILE.npy", printable(argument), printable(value)));
    }
    if (!given.insert(name).second) {
      return invalid_argument(fmt::format("--output {}: '{}' is already given; give each output once",
                                          printable(argument), printable(name)));
    }
    const auto number = static_cast<std::size_t>(output - outputs.begin());
    if (const auto taken = taken_files.take(value.substr(1), number)) {
      return invalid_argument(
          fmt::format("--output {}: '{}' already goes to that file; give each output a file of its own",
                      printable(argument), printable(outputs[*taken].name)));
    }
    files.push_back({number, value.substr(1)});
  }
  if (trace.empty()) return files;
  if (const auto taken = taken_files.take(trace, outputs.size())) {
    return invalid_argument(fmt::format("--trace {}: '{}' already goes to that file; give the trace a file of its own",
                                        printable(trace), printable(outputs[*taken].name)));
  }
  return files;
}

/// Runs `repeat` times; if that is more than once, reports the times on standard error.
Status run_session(Session& session, RunArguments& run, std::uint32_t repeat, RunTimes* measured) {
  const auto inputs = run.bind_inputs(), outputs = run.bind_outputs();
  const auto dims = run.bind_dims();
  std::vector<double> microseconds;
  for (std::uint32_t i = 0; i < repeat; ++i) {
    SubmissionTimes times;
    if (measured != nullptr) session.measure(&times);
    const auto begin = TraceClock::now();
    MILLRACE_TRY(session.run(inputs, outputs, dims));
    if (measured != nullptr) measured->runs.push_back({begin, std::move(times)});
    microseconds.push_back(std::chrono::duration<double, std::micro>(TraceClock::now() - begin).count());
  }
  if (repeat == 1) return {};
  std::ranges::sort(microseconds);
  write_notice(fmt::format("ran {} times: minimum {:.2f} us, median {:.2f} us, maximum {:.2f} us\n", repeat,
                           microseconds.front(), microseconds[microseconds.size() / 2], microseconds.back()));
  return {};
}

Status write_outputs(const std::vector<Argument>& outputs, const RunArguments& run,
                     const std::vector<OutputFile>& files) {
  for (const OutputFile& file : files) {
    const NpyArray& array = run.outputs[file.output];
    MILLRACE_TRY(write_npy(file.path, array.type, array.bytes));
  }
  if (!files.empty()) return {};
  std::string text;
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    text += describe_array(outputs[i].name, run.outputs[i]);
  }
  return write_text("", text);
}

Status run(const Arguments& arguments) {
  TraceTimes times;
  times.start = TraceClock::now();
  MILLRACE_TRY_ASSIGN(Graph graph, read_graph(arguments.graph));
  times.inputs_begin = TraceClock::now();
  MILLRACE_TRY_ASSIGN(const RunMaker maker, RunMaker::create(graph, arguments.inputs));
  const std::vector<Argument>& outputs = maker.signature().outputs();
  MILLRACE_TRY_ASSIGN(const std::vector<OutputFile> files, parse_outputs(outputs, arguments.outputs, arguments.trace));
  RunArguments run = maker.make(0);
  times.compile_begin = TraceClock::now();
  GraphArguments on = arguments.graph;
  if (arguments.seed) {
    MILLRACE_TRY_ASSIGN(on.target, with_seed(on.target, *arguments.seed));
  }
  CountingDevice counting;
  if (arguments.counts) {
    MILLRACE_TRY_ASSIGN(counting, open_counting_device(*make_context(), on.target));
  }
  MILLRACE_TRY_ASSIGN(const Program program, compile_graph(std::move(graph), on, counting.device));
  MILLRACE_TRY_ASSIGN(Session session, Session::create(program));
  RunTimes measured;
  MILLRACE_TRY(run_session(session, run, arguments.repeat, arguments.trace.empty() ? nullptr : &measured));
  times.outputs_begin = TraceClock::now();
  MILLRACE_TRY(write_outputs(outputs, run, files));
  times.outputs_end = TraceClock::now();
  if (counting.device) write_notice(counting.counts_text());
  if (arguments.trace.empty()) return {};
  return write_text(arguments.trace, chrome_trace(program, times, measured, run.symbols));
}

}  // namespace

Action add_run(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  add_graph_file(app, arguments->graph);
  add_inputs(app, arguments->inputs);
  app.add_option("--output", arguments->outputs,
                 "Write an output to a NumPy file. Without this option, all outputs are printed.\n"
                 "May be given again, for other outputs.")
      ->type_name("NAME=@FILE")
      ->allow_extra_args(false)
      ->check(is_assignment);
  add_target(app, arguments->graph, "--device");
  app.add_option("--repeat", arguments->repeat, "Run this many times, and report the times on standard error.")
      ->type_name("N")
      ->check(CLI::Range(1u, 1'000'000'000u).description(""));
  app.add_flag("--counts", arguments->counts,
               "Report on standard error what the kernels did, on a GPU of sim or isa.\n"
               "Bytes are those that threads request; shared and local bytes are in workgroup memory.");
  app.add_option("--seed", arguments->seed, "Shuffle the order of workgroups and waves, on a GPU of sim or isa.")
      ->type_name("N");
  app.add_option("--trace", arguments->trace, "Write a timeline of the run, as JSON that ui.perfetto.dev opens.")
      ->type_name("FILE");
  return [arguments] { return run(*arguments); };
}

}  // namespace millrace::tool
