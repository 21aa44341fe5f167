// SPDX-License-Identifier: Apache-2.0
// Writes the timeline of `millrace run --trace`.
#include "tools/millrace/trace.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "millrace/graph/compile_report.h"
#include "millrace/graph/lowered_graph.h"
#include "tools/millrace/step_cost.h"

namespace millrace::tool {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::nanoseconds;

// Rows of the picture: one for compiling, one for running, and from kSideThreads on, rows for code that is generated
// concurrently.
constexpr int kCompileThread = 1, kRunThread = 2, kSideThreads = 3;

struct Span {
  std::string name;
  const char* category;
  int thread;
  nanoseconds begin, length;
};

Json event(const Span& span, Json args = Json::object()) {
  const auto microseconds = [](nanoseconds time) { return static_cast<double>(time.count()) / 1000; };
  return {{"name", span.name},
          {"cat", span.category},
          {"ph", "X"},
          {"pid", 1},
          {"tid", span.thread},
          {"ts", microseconds(span.begin)},
          {"dur", microseconds(span.length)},
          {"args", std::move(args)}};
}

Json thread_name(int thread, std::string_view name) {
  return {{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", thread}, {"args", {{"name", name}}}};
}

/// Adds the phases before compiling and after running.
void add_file_events(Json& events, const TraceTimes& times) {
  const auto add = [&](const char* name, int thread, TraceClock::time_point begin, TraceClock::time_point end) {
    events.push_back(event({name, "files", thread, begin - times.start, end - begin}));
  };
  add("read", kCompileThread, times.start, times.inputs_begin);
  add("inputs", kCompileThread, times.inputs_begin, times.compile_begin);
  add("outputs", kRunThread, times.outputs_begin, times.outputs_end);
}

/// Adds the time that generating the code of each kernel took, in the first row that is free at that time.
void add_kernel_events(Json& events, const CompileReport& report, nanoseconds code_begin) {
  std::vector<const KernelReport*> kernels;
  for (const KernelReport& kernel : report.kernel_reports) kernels.push_back(&kernel);
  // The pointer breaks ties, so that kernels that begin together keep their order. Not a stable sort: clang 19 does not
  // compile GCC 12's ranges::stable_sort.
  std::ranges::sort(kernels, {}, [](const KernelReport* kernel) { return std::pair(kernel->begin, kernel); });
  std::vector<nanoseconds> row_ends = {nanoseconds{}};
  for (const KernelReport* kernel : kernels) {
    std::size_t row = 0;
    while (row < row_ends.size() && row_ends[row] > kernel->begin) ++row;
    if (row == row_ends.size()) {
      row_ends.emplace_back();
      events.push_back(
          thread_name(kSideThreads + static_cast<int>(row) - 1, fmt::format("compile, {} at once", row + 1)));
    }
    row_ends[row] = kernel->begin + kernel->time;
    const int thread = row == 0 ? kCompileThread : kSideThreads + static_cast<int>(row) - 1;
    events.push_back(event({kernel->name, "compile", thread, code_begin + kernel->begin, kernel->time}));
  }
}

/// Adds the phases of compiling, with the parts of each phase below it.
void add_compile_events(Json& events, const CompileReport& report, nanoseconds begin) {
  const auto add = [&](std::string name, nanoseconds at, nanoseconds length) {
    events.push_back(event({std::move(name), "compile", kCompileThread, at, length}));
  };
  add("compile", begin, report.total);
  nanoseconds at = begin;
  const auto add_phase = [&](const char* name, nanoseconds length) {
    add(name, at, length);
    at += length;
  };
  nanoseconds pass_begin = at;
  for (const PassReport& pass : report.pass_reports) {
    add(std::string(pass.name), pass_begin, pass.time);
    pass_begin += pass.time;
  }
  add_phase("passes", report.passes);
  add_phase("form", report.forming);
  add_phase("lower", report.lowering);
  add_phase("schedule", report.scheduling);
  add_kernel_events(events, report, at);
  add_phase("code", report.code);
  add_phase("load", report.load);
}

void add_run_events(Json& events, const LoweredGraph& lowered, const TraceTimes& times, const RunTimes& runs,
                    const SymbolValues& symbols) {
  const IdVector<CommandId, const Step*> steps = steps_of_commands(lowered);
  const auto number = [&](const SizeExpr& size) {
    const Result<std::int64_t> value = size.evaluate(symbols);
    return value.ok() ? *value : 0;
  };
  const auto add = [&](const RunTimes::Entry& run, const CommandTime& command) {
    const Step& step = *steps[command.command];
    const StepCost cost = cost_of(step, symbols);
    const std::int64_t read = number(cost.bytes_read), written = number(cost.bytes_written);
    const nanoseconds begin(command.begin_ns), length(command.end_ns - command.begin_ns);
    const double per_ns = 1 / std::max(1.0, static_cast<double>(length.count()));
    Json args = {
        {"bytes_read", read}, {"bytes_written", written}, {"GB/s", static_cast<double>(read + written) * per_ns}};
    if (step.kernel) args["kernel"] = step.name;
    if (cost.flops) {
      args["flops"] = number(*cost.flops);
      args["GFLOP/s"] = static_cast<double>(number(*cost.flops)) * per_ns;
    }
    const char* category = step.kernel ? "dispatch" : step.is_copy() ? "copy" : "control";
    events.push_back(
        event({step.display_name(), category, kRunThread, run.run_begin - times.start + begin, length}, args));
  };
  for (const RunTimes::Entry& run : runs.runs) {
    for (const CommandTime& command : run.times.commands) add(run, command);
  }
}

}  // namespace

std::string chrome_trace(const Program& program, const TraceTimes& times, const RunTimes& runs,
                         const SymbolValues& symbols) {
  Json events = Json::array({thread_name(kCompileThread, "compile"), thread_name(kRunThread, "run")});
  add_file_events(events, times);
  add_compile_events(events, program.report(), times.compile_begin - times.start);
  add_run_events(events, program.lowered(), times, runs, symbols);
  const Json trace = {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  // Names may be any bytes, but JSON is UTF-8.
  return trace.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace millrace::tool
