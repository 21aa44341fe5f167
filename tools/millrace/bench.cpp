// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/graph/schedule_statistics.h"
#include "millrace/hal/device.h"
#include "tools/millrace/command.h"
#include "tools/millrace/graph_arguments.h"
#include "tools/millrace/measure.h"
#include "tools/millrace/run_arguments.h"
#include "tools/millrace/step_cost.h"

namespace millrace::tool {
namespace {

/// So many that branches and small caches do not learn one input.
constexpr std::size_t kNumInputs = 16;

struct Arguments {
  GraphArguments graph;
  InputArguments inputs;
  std::string json;
  double min_seconds = 0.5;
};

/// A run's inputs and outputs, bound.
struct BoundRun {
  explicit BoundRun(RunArguments made)
      : arguments(std::move(made)), inputs(arguments.bind_inputs()), outputs(arguments.bind_outputs()) {}
  RunArguments arguments;
  std::vector<TensorBinding> inputs, outputs;
};

void add_costs(Measurement& measurement, const Schedule& schedule, const SymbolValues& symbols) {
  const auto number = [&](const SizeExpr& size) {
    const Result<std::int64_t> value = size.evaluate(symbols);
    return value.ok() ? static_cast<double>(*value) : 0.0;
  };
  for (const Step& step : schedule.steps) {
    const StepCost cost = cost_of(step, symbols);
    measurement.bytes += number(cost.bytes_read + cost.bytes_written);
    measurement.flops += cost.flops ? number(*cost.flops) : 0;
  }
}

void add_statistics(Measurement& measurement, const ScheduleStatistics& found) {
  const auto add = [&](const char* name, auto number) {
    measurement.counters.emplace_back(name, static_cast<double>(number));
  };
  add("dispatches", found.num_dispatches);
  add("copies", found.num_copies);
  add("barriers", found.num_barriers);
  add("waits", found.num_waits);
  if (found.peak_bytes) add("peak_bytes", *found.peak_bytes);
  if (found.lower_bound_bytes) add("lower_bound_bytes", *found.lower_bound_bytes);
  add("constant_bytes", found.constant_bytes);
}

Status bench(const Arguments& arguments) {
  MILLRACE_TRY_ASSIGN(Graph graph, read_graph(arguments.graph));
  MILLRACE_TRY_ASSIGN(const RunMaker maker, RunMaker::create(graph, arguments.inputs, kNumInputs));
  std::vector<BoundRun> runs;
  for (std::size_t i = 0; i < kNumInputs; ++i) runs.emplace_back(maker.make(i * 1000));
  MILLRACE_TRY_ASSIGN(const Program program, compile_graph(std::move(graph), arguments.graph));
  MILLRACE_TRY_ASSIGN(Session session, Session::create(program));
  const std::vector<DimBinding> dims = runs[0].arguments.bind_dims();
  Measurement measurement{.name = printable(program.lowered().dispatch.graph.name),
                          .run =
                              [&](std::size_t number) {
                                const BoundRun& run = runs[number % kNumInputs];
                                return session.run(run.inputs, run.outputs, dims);
                              },
                          .json_file = arguments.json,
                          .min_seconds = arguments.min_seconds};
  SubmissionTimes times;
  if (!program.device()->info().finishes_inline) {
    session.measure(&times);
    measurement.device_seconds = [&] {
      return times.commands.empty() ? 0 : static_cast<double>(times.commands.back().end_ns) * 1e-9;
    };
  }
  MILLRACE_TRY(measurement.run(0));  // allocates, and says what is wrong before anything is measured
  add_costs(measurement, program.lowered().schedule, runs[0].arguments.symbols);
  add_statistics(measurement, measure_schedule(program.lowered().schedule, runs[0].arguments.symbols));
  return measure(measurement);
}

/// CLI::Range lets it pass.
std::string is_no_nan(const std::string& text) {
  return std::isnan(std::strtod(text.c_str(), nullptr)) ? fmt::format("found '{}', expected a number", text) : "";
}

}  // namespace

Action add_bench(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  add_graph_file(app, arguments->graph);
  add_inputs(app, arguments->inputs);
  add_target(app, arguments->graph, "--device");
  app.add_option("--json", arguments->json, "Write Google Benchmark's JSON there, too.")->type_name("FILE");
  app.add_option("--min-time", arguments->min_seconds, "Measure for at least so many seconds.")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 3600.0).description(""))
      ->check(is_no_nan);
  return [arguments] { return bench(*arguments); };
}

}  // namespace millrace::tool
