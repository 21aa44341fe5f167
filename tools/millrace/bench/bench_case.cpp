// SPDX-License-Identifier: Apache-2.0
// One graph on one device: compiles it, makes its inputs, and turns it into rows of the benchmark.
#include "tools/millrace/bench/bench_case.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/graph/program_variant.h"
#include "millrace/graph/schedule_statistics.h"
#include "millrace/hal/device.h"
#include "tools/millrace/dims.h"
#include "tools/millrace/step_cost.h"

namespace millrace::tool {
namespace {

/// The number of inputs that runs use in turn: enough that branch predictors and small caches do not learn them.
constexpr std::size_t kNumInputs = 16;

double number(const SizeExpr& size, const SymbolValues& symbols) {
  const Result<std::int64_t> value = size.evaluate(symbols);
  return value.ok() ? static_cast<double>(*value) : 0.0;
}

/// A compiled case, and the times of its kernels.
struct CompiledCase {
  CompiledCase(std::shared_ptr<BenchGraph> shared, Program compiled, Session made)
      : graph(std::move(shared)), program(std::move(compiled)), session(std::move(made)) {}

  Status run(std::size_t number) {
    const BenchGraph::Run& run = *graph->runs[number % graph->runs.size()];
    return session.run(run.inputs, run.outputs, run.arguments.bind_dims());
  }

  /// The seconds of a command in measured run `run_number`. All rows share these runs: the first row that asks for a
  /// run makes it.
  Result<double> seconds_of(CommandId command, std::size_t run_number) {
    while (samples.size() <= run_number) {
      SubmissionTimes measured;
      session.measure(&measured);
      const Status status = run(samples.size());
      session.measure(nullptr);
      if (!status.ok()) return status;
      IdVector<CommandId, double> seconds;
      seconds.resize(program.lowered().commands.num_commands());
      for (const CommandTime& time : measured.commands) {
        seconds[time.command] = static_cast<double>(time.end_ns - time.begin_ns) * 1e-9;
      }
      samples.push_back(std::move(seconds));
    }
    return samples[run_number][command];
  }

  /// Measures the commands in loops and conditions in the given number of runs. This slows the runs down, so the times
  /// of all other commands come from other runs.
  Status measure_blocks(std::int64_t num_runs) {
    constexpr std::size_t kMaxTimes = 10000;  // times to keep for each command
    blocks.resize(program.lowered().commands.num_commands());
    SubmissionTimes measured{.commands = {}, .has_blocks = true};
    for (; num_block_runs < num_runs; ++num_block_runs) {
      session.measure(&measured);
      const Status status = run(static_cast<std::size_t>(num_block_runs));
      session.measure(nullptr);
      MILLRACE_TRY(status);
      for (const CommandTime& time : measured.commands) {
        BlockTimes& times = blocks[time.command];
        ++times.num_launches;
        if (times.seconds.size() >= kMaxTimes) continue;
        times.seconds.push_back(static_cast<double>(time.end_ns - time.begin_ns) * 1e-9);
      }
    }
    return {};
  }

  /// The times of one command in a loop or a condition.
  struct BlockTimes {
    std::vector<double> seconds;  // of the first kMaxTimes launches
    std::size_t num_launches = 0;
  };

  std::shared_ptr<BenchGraph> graph;
  Program program;
  Session session;
  SubmissionTimes times;                             // of the last run, if the device has its own clock
  std::vector<IdVector<CommandId, double>> samples;  // per measured run
  IdVector<CommandId, BlockTimes> blocks;
  std::int64_t num_block_runs = 0;  // the runs that were measured for `blocks`
  double last_seconds = 0;          // the time of the command that a row measured last
};

void add_cost(Measurement& measurement, const StepCost& cost, const SymbolValues& symbols) {
  measurement.bytes += number(cost.bytes_read + cost.bytes_written, symbols);
  measurement.flops += cost.flops ? number(*cost.flops, symbols) : 0;
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

/// "xbyak, llvm": the generators that made the kernels.
std::string generators_text(const Schedule& schedule) {
  std::set<std::string> used;
  for (const PlannedKernel& kernel : schedule.kernels) used.insert(kernel.generator);
  std::string text;
  for (const std::string& name : used) text += (text.empty() ? "" : ", ") + name;
  return text;
}

MeasuredFacts facts_of(const CompiledCase& compiled, const BenchCase& bench) {
  const Program& program = compiled.program;
  MeasuredFacts facts{.file = shown_file(compiled.graph->file),
                      .graph = printable(program.lowered().dispatch.graph.name),
                      .device = bench.arguments.target,
                      .target = program.variants().front().target.to_text(),
                      .generator = generators_text(program.lowered().schedule)};
  for (const auto& [name, value] : compiled.graph->runs[0]->arguments.symbols) facts.dims.emplace_back(name, value);
  return facts;
}

/// The row of the whole graph.
Measurement whole(const std::shared_ptr<CompiledCase>& compiled, const BenchCase& bench) {
  const Schedule& schedule = compiled->program.lowered().schedule;
  const SymbolValues& symbols = compiled->graph->runs[0]->arguments.symbols;
  Measurement row{.name = bench.name, .facts = facts_of(*compiled, bench)};
  if (compiled->program.device()->info().is_synchronous) {
    row.run = [compiled](std::size_t number) { return compiled->run(number); };
  } else {
    row.run = [compiled](std::size_t number) {
      compiled->session.measure(&compiled->times);
      return compiled->run(number);
    };
    row.seconds = [compiled] {
      const std::vector<CommandTime>& commands = compiled->times.commands;
      return commands.empty() ? 0 : static_cast<double>(commands.back().end_ns) * 1e-9;
    };
  }
  for (const Step& step : schedule.steps) add_cost(row, cost_of(step, symbols), symbols);
  add_statistics(row, measure_schedule(schedule, symbols));
  return row;
}

/// The row of one command. Each of its iterations is a run of the whole graph in which the command is timed.
Measurement single(const std::shared_ptr<CompiledCase>& compiled, const BenchCase& bench, const Step& step,
                   CommandId command, std::int64_t iterations) {
  const Schedule& schedule = compiled->program.lowered().schedule;
  Measurement row{.name = fmt::format("{}/{}", bench.name, printable(step.display_name())),
                  .facts = facts_of(*compiled, bench),
                  .run =
                      [compiled, command](std::size_t number) {
                        const Result<double> seconds = compiled->seconds_of(command, number);
                        if (seconds.ok()) compiled->last_seconds = *seconds;
                        return seconds.status();
                      },
                  .seconds = [compiled] { return compiled->last_seconds; },
                  .iterations = iterations};
  const SymbolValues& symbols = compiled->graph->runs[0]->arguments.symbols;
  row.facts.generator = step.kernel ? schedule.kernels[*step.kernel].generator : "";
  add_cost(row, cost_of(step, symbols), symbols);
  return row;
}

/// "nested/while_1/if_2/sort_2": a command, after the graph and the loops and conditions around it.
std::string nested_name(const std::string& graph, const IdVector<CommandId, CommandOrigin>& origins,
                        CommandId command) {
  std::string name = printable(origins[command].step->display_name());
  for (auto around = origins[command].around; around; around = origins[*around].around) {
    name = fmt::format("{}/{}", printable(origins[*around].step->display_name()), name);
  }
  return fmt::format("{}/{}", graph, name);
}

/// The row of a command in a loop or a condition. Each of its iterations is one launch.
Measurement nested(const std::shared_ptr<CompiledCase>& compiled, const BenchCase& bench, std::string name,
                   const CommandOrigin& origin, CommandId command) {
  const CompiledCase::BlockTimes& times = compiled->blocks[command];
  Measurement row{.name = std::move(name),
                  .facts = facts_of(*compiled, bench),
                  .run =
                      [compiled, &times](std::size_t number) {
                        compiled->last_seconds = times.seconds[number % times.seconds.size()];
                        return Status();
                      },
                  .seconds = [compiled] { return compiled->last_seconds; },
                  .iterations = static_cast<std::int64_t>(times.seconds.size())};
  const Step& step = *origin.step;
  const SymbolValues& symbols = compiled->graph->runs[0]->arguments.symbols;
  row.facts.generator = step.kernel ? origin.graph->schedule.kernels[*step.kernel].generator : "";
  add_cost(row, cost_of(step, symbols), symbols);
  row.counters.emplace_back("launches",
                            static_cast<double>(times.num_launches) / static_cast<double>(compiled->num_block_runs));
  return row;
}

/// Adds a row for each kernel and copy in loops and conditions, if it runs at all.
Status add_nested(std::vector<Measurement>& rows, const std::shared_ptr<CompiledCase>& compiled, const BenchCase& bench,
                  std::int64_t num_runs) {
  const IdVector<CommandId, CommandOrigin> origins = find_origins(compiled->program.lowered());
  const auto is_nested = [&](CommandId id) {
    const CommandOrigin& origin = origins[id];
    return origin.around && origin.step != nullptr && origin.step->control == nullptr;
  };
  bool has_nested = false;
  for (std::uint32_t i = 0; i < origins.size(); ++i) has_nested |= is_nested(CommandId{i});
  if (!has_nested) return {};
  MILLRACE_TRY(compiled->measure_blocks(num_runs));
  for (std::uint32_t i = 0; i < origins.size(); ++i) {
    const CommandId command{i};
    if (!is_nested(command)) continue;
    std::string name = nested_name(bench.name, origins, command);
    if (compiled->blocks[command].num_launches == 0) {
      write_notice(fmt::format("millrace: {} is left out: it did not run with these inputs\n", name));
      continue;
    }
    rows.push_back(nested(compiled, bench, std::move(name), origins[command], command));
  }
  return {};
}

/// The number of runs that take `seconds`, estimated from a warm run.
Result<std::int64_t> count_runs(CompiledCase& compiled, double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  MILLRACE_TRY(compiled.run(1));
  const double once = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  constexpr double kMinRuns = 10, kMaxRuns = 10000;  // more times would take too much memory
  return static_cast<std::int64_t>(std::clamp(std::ceil(seconds / std::max(once, 1e-9)), kMinRuns, kMaxRuns));
}

/// The arguments that name something in this graph; the others belong to other graphs.
InputArguments own_arguments(const Graph& graph, const std::map<std::string, Dim>& symbols,
                             const InputArguments& arguments) {
  InputArguments own;
  const auto is_input = [&](const std::string& name) {
    return std::ranges::any_of(graph.inputs,
                               [&](NodeId id) { return std::get<InputNode>(graph.nodes[id].what).name == name; });
  };
  for (const std::string& input : arguments.inputs) {
    if (is_input(split_assignment(input).name)) own.inputs.push_back(input);
  }
  for (const std::string& dim : arguments.dims) {
    if (symbols.contains(split_assignment(dim).name)) own.dims.push_back(dim);
  }
  return own;
}

}  // namespace

Result<std::shared_ptr<BenchGraph>> make_bench_graph(const GraphArguments& arguments, const InputArguments& inputs,
                                                     bool is_alone) {
  auto bench = std::make_shared<BenchGraph>();
  bench->file = arguments.file;
  MILLRACE_TRY_ASSIGN(bench->graph, read_graph(arguments));
  MILLRACE_TRY_ASSIGN(const auto symbols, collect_symbols(bench->graph));
  bench->own = is_alone ? inputs : own_arguments(bench->graph, symbols, inputs);
  MILLRACE_TRY_ASSIGN(const RunMaker maker, RunMaker::create(bench->graph, bench->own, kNumInputs));
  for (std::size_t i = 0; i < kNumInputs; ++i) {
    bench->runs.push_back(std::make_unique<BenchGraph::Run>(maker.make(i * 1000)));
  }
  return bench;
}

Result<std::vector<Measurement>> make_measurements(const std::shared_ptr<BenchGraph>& graph, const BenchCase& bench) {
  MILLRACE_TRY_ASSIGN(Program program, compile_graph(Graph(graph->graph), bench.arguments));
  MILLRACE_TRY_ASSIGN(Session session, Session::create(program));
  const auto compiled = std::make_shared<CompiledCase>(graph, std::move(program), std::move(session));
  MILLRACE_TRY(compiled->run(0));
  std::vector<Measurement> rows = {whole(compiled, bench)};
  if (!bench.has_kernels) return rows;
  MILLRACE_TRY_ASSIGN(const std::int64_t iterations, count_runs(*compiled, bench.min_seconds));
  const LoweredGraph& lowered = compiled->program.lowered();
  const IdVector<CommandId, const Step*> steps = steps_of_commands(lowered);
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    const CommandId command{i};
    if (steps[command] != nullptr) rows.push_back(single(compiled, bench, *steps[command], command, iterations));
  }
  MILLRACE_TRY(add_nested(rows, compiled, bench, iterations));
  return rows;
}

}  // namespace millrace::tool
