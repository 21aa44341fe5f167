// SPDX-License-Identifier: Apache-2.0
// Measures the steps of a graph for `millrace explain --measure`, against the roofline of this machine.
#include "tools/millrace/explain/explain_measure.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include <fmt/format.h>

#include "millrace/graph/program_variant.h"
#include "millrace/hal/device.h"
#include "tools/millrace/dims.h"

namespace millrace::tool {
namespace {

/// Runs at least kMinRuns times, then until kTime is over, and at most kMaxRuns times.
constexpr std::size_t kMinRuns = 5, kMaxRuns = 2000;
constexpr std::chrono::milliseconds kTime{300};

/// Adds an --input with random elements for each input that has none.
void add_missing(const Graph& graph, InputArguments& arguments) {
  for (const NodeId id : graph.inputs) {
    const std::string& name = std::get<InputNode>(graph.nodes[id].what).name;
    const auto names_it = [&](const std::string& argument) { return split_assignment(argument).name == name; };
    if (std::ranges::none_of(arguments.inputs, names_it)) arguments.inputs.push_back(name + "=randn");
  }
}

/// The median time of each step.
Result<std::vector<double>> time_steps(const Program& program, RunArguments& run) {
  MILLRACE_TRY_ASSIGN(Session session, Session::create(program));
  const auto inputs = run.bind_inputs(), outputs = run.bind_outputs();
  const auto dims = run.bind_dims();
  MILLRACE_TRY(session.run(inputs, outputs, dims));  // the first run allocates memory
  const IdVector<CommandId, const Step*> steps = steps_of_commands(program.lowered());
  IdVector<CommandId, std::vector<double>> samples;
  samples.resize(steps.size());
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < kMinRuns || (i < kMaxRuns && std::chrono::steady_clock::now() - begin < kTime); ++i) {
    SubmissionTimes times;
    session.measure(&times);
    MILLRACE_TRY(session.run(inputs, outputs, dims));
    for (const CommandTime& time : times.commands) {
      samples[time.command].push_back(static_cast<double>(time.end_ns - time.begin_ns) * 1e-9);
    }
  }
  std::vector<double> medians;
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    if (steps[CommandId{i}] == nullptr) continue;
    std::vector<double>& seconds = samples[CommandId{i}];
    std::ranges::sort(seconds);
    medians.push_back(seconds.empty() ? 0 : seconds[seconds.size() / 2]);
  }
  return medians;
}

/// "1.23 us", "12.3 ms".
std::string time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.3g} us", seconds * 1e6) : fmt::format("{:.3g} ms", seconds * 1e3);
}

bool computes_f64(const Step& step, const Schedule& schedule) {
  return step.kernel && schedule.kernels[*step.kernel].key_text.find("f64") != std::string::npos;
}

}  // namespace

Result<MeasuredSteps> MeasuredSteps::run(const Graph& graph, const GraphArguments& arguments, InputArguments inputs) {
  add_missing(graph, inputs);
  MILLRACE_TRY_ASSIGN(const RunMaker maker, RunMaker::create(graph, inputs));
  RunArguments run = maker.make(0);
  MILLRACE_TRY_ASSIGN(const Program program, compile_graph(Graph(graph), arguments));
  MeasuredSteps measured;
  measured.symbols_ = run.symbols;
  MILLRACE_TRY_ASSIGN(measured.seconds_, time_steps(program, run));
  const TargetSpec& target = program.variants().front().target;
  if (target.is_cpu()) measured.roofline_.emplace(target.isa);
  const Schedule& schedule = program.lowered().schedule;
  for (const Step& step : schedule.steps) measured.is_f64_.push_back(computes_f64(step, schedule));
  return measured;
}

std::string MeasuredSteps::text(std::size_t step, const Step& shown) {
  const StepCost cost = cost_of(shown, symbols_);
  const auto number = [&](const SizeExpr& size) {
    const Result<std::int64_t> value = size.evaluate(symbols_);
    return value.ok() ? static_cast<double>(*value) : 0.0;
  };
  const double bytes = number(cost.bytes_read + cost.bytes_written), flops = cost.flops ? number(*cost.flops) : 0;
  const double seconds = seconds_[step];
  std::string text = time_text(seconds);
  if (seconds == 0) return text;
  text += fmt::format(", {:.3g} GB/s", bytes / seconds * 1e-9);
  if (flops > 0) text += fmt::format(", {:.3g} GFLOP/s", flops / seconds * 1e-9);
  if (!roofline_ || bytes == 0) return text;
  const double peak = roofline_->peak_flops() / (is_f64_[step] ? 2 : 1), bandwidth = roofline_->bytes_per_second(bytes);
  return text + "; " + share_text({bytes / seconds, flops / seconds}, {bandwidth, peak});
}

std::string MeasuredSteps::total_text() const {
  return time_text(std::accumulate(seconds_.begin(), seconds_.end(), 0.0));
}

}  // namespace millrace::tool
