// SPDX-License-Identifier: Apache-2.0
// `millrace bench`: measures graphs on several devices and generators through Google Benchmark.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "tools/millrace/bench/bench_case.h"
#include "tools/millrace/command.h"
#include "tools/millrace/dims.h"

namespace millrace::tool {
namespace {

struct Arguments {
  std::vector<std::string> files, devices, generators;
  ScheduleOrder order = ScheduleOrder::kMaxConcurrency;
  InputArguments inputs;
  bool has_kernels = false;
  MeasureOptions measure;
};

/// Fails if an --input or a --dim names something that no graph has.
Status require_uses(const std::vector<std::shared_ptr<BenchGraph>>& graphs, const InputArguments& inputs) {
  const auto is_used = [&](const std::string& argument, std::vector<std::string> InputArguments::* kind) {
    return std::ranges::any_of(graphs, [&](const auto& graph) {
      const std::vector<std::string>& used = graph->own.*kind;
      return std::ranges::find(used, argument) != used.end();
    });
  };
  for (const std::string& input : inputs.inputs) {
    if (is_used(input, &InputArguments::inputs)) continue;
    return not_found(fmt::format("--input {}: no graph has an input '{}'; 'millrace check FILE' lists their inputs",
                                 printable(input), printable(split_assignment(input).name)));
  }
  for (const std::string& dim : inputs.dims) {
    if (is_used(dim, &InputArguments::dims)) continue;
    return not_found(fmt::format("--dim {}: no graph has a symbolic size '{}'; leave it out", printable(dim),
                                 printable(split_assignment(dim).name)));
  }
  return {};
}

/// The graph's name. Adds the file, the device and the generator if rows would otherwise have the same name.
std::string case_name(const Arguments& arguments, const std::vector<std::shared_ptr<BenchGraph>>& graphs,
                      const BenchGraph& graph, const GraphArguments& with) {
  const auto same =
      std::ranges::count_if(graphs, [&](const auto& other) { return other->graph.name == graph.graph.name; });
  std::string name = same > 1 ? fmt::format("{}:", shown_file(graph.file)) : "";
  name += printable(graph.graph.name);
  if (arguments.devices.size() > 1) name += "/" + with.target;
  if (arguments.generators.size() > 1) name += "/" + with.generator;
  return name;
}

/// Makes rows for every graph on every device with every generator. If there are several combinations, an unavailable
/// one is left out with a notice.
Result<std::vector<Measurement>> make_rows(const Arguments& arguments,
                                           const std::vector<std::shared_ptr<BenchGraph>>& graphs) {
  std::vector<Measurement> rows;
  Status failure;
  const bool is_alone = graphs.size() * arguments.devices.size() * arguments.generators.size() == 1;
  for (const std::shared_ptr<BenchGraph>& graph : graphs) {
    for (const std::string& device : arguments.devices) {
      for (const std::string& generator : arguments.generators) {
        const GraphArguments with{graph->file, device, generator, arguments.order};
        const BenchCase bench{case_name(arguments, graphs, *graph, with), with, arguments.has_kernels,
                              arguments.measure.min_seconds};
        Result<std::vector<Measurement>> made = make_measurements(graph, bench);
        if (made.ok()) {
          std::ranges::move(*made, std::back_inserter(rows));
          continue;
        }
        if (is_alone) return made.status();
        if (failure.ok()) failure = made.status();
        write_notice(
            fmt::format("millrace: {} is left out: {}\n", bench.name, printable_lines(made.status().message())));
      }
    }
  }
  return rows.empty() ? Result<std::vector<Measurement>>(failure) : std::move(rows);
}

Status bench(const Arguments& arguments) {
  std::vector<std::shared_ptr<BenchGraph>> graphs;
  for (const std::string& file : arguments.files) {
    MILLRACE_TRY_ASSIGN(auto graph, make_bench_graph({.file = file}, arguments.inputs, arguments.files.size() == 1));
    graphs.push_back(std::move(graph));
  }
  MILLRACE_TRY(require_uses(graphs, arguments.inputs));
  MILLRACE_TRY_ASSIGN(const std::vector<Measurement> rows, make_rows(arguments, graphs));
  return measure(rows, arguments.measure);
}

/// Rejects NaN, which CLI::Range accepts.
std::string check_not_nan(const std::string& text) {
  return std::isnan(std::strtod(text.c_str(), nullptr)) ? fmt::format("found '{}', expected a number", printable(text))
                                                        : "";
}

/// Passes the remaining arguments on as flags of Google Benchmark.
void take_flags(Arguments& arguments, const CLI::App& app) {
  arguments.measure.flags = app.remaining();
  for (const std::string& flag : arguments.measure.flags) {
    if (!flag.starts_with("--benchmark_")) throw CLI::ExtrasError({flag});
  }
  if (arguments.devices.empty()) arguments.devices = {"cpu"};
  if (arguments.generators.empty()) arguments.generators = {""};
}

}  // namespace

Action add_bench(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("FILE", arguments->files, "The graphs, as text; - reads one from standard input.")
      ->type_name("")
      ->required();
  add_inputs(app, arguments->inputs);
  app.add_option("--device,--target", arguments->devices,
                 fmt::format("{}\nMay be given again; each graph then runs on each device.", kTargetHelp))
      ->type_name("TARGET")
      ->allow_extra_args(false);
  app.add_option("--generator", arguments->generators,
                 "Force a code generator: xbyak, llvm or interpreter. May be given\nagain, to compare them.")
      ->type_name("NAME")
      ->allow_extra_args(false);
  add_order(app, arguments->order);
  app.add_flag("--kernels", arguments->has_kernels,
               "Add a row for each kernel and copy: its time in runs of the whole graph. Rows in a\n"
               "loop or a branch are per launch, and say how many launches a run has.");
  app.add_option("--json", arguments->measure.json_file,
                 "Write Google Benchmark's JSON to FILE, with each row's dims, device and generator.")
      ->type_name("FILE");
  app.add_option("--min-time", arguments->measure.min_seconds, "Measure each row for at least this many seconds.")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 3600.0).description(""))
      ->check(check_not_nan);
  app.allow_extras();
  app.callback([arguments, &app] { take_flags(*arguments, app); });
  return [arguments] { return bench(*arguments); };
}

}  // namespace millrace::tool
