// SPDX-License-Identifier: Apache-2.0
// `millrace explain`: why nodes form each dispatch, what runs it, what it costs, and where its memory is.
#include <CLI/CLI.hpp>
#include <memory>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/schedule_statistics.h"
#include "tools/millrace/command.h"
#include "tools/millrace/dims.h"
#include "tools/millrace/explain/explain_dispatch.h"
#include "tools/millrace/explain/explain_launch.h"
#include "tools/millrace/explain/explain_text.h"
#include "tools/millrace/graph_arguments.h"
#include "tools/millrace/tool_context.h"

namespace millrace::tool {
namespace {

struct Arguments {
  GraphArguments graph;
  std::optional<std::uint32_t> dispatch;
  InputArguments inputs;
  std::string json;
  bool measures = false;
};

/// Lists each copy that remains, with its reason. `where` names the loop or branch around it.
std::string copies_text(const LoweredGraph& lowered, const std::string& where = "") {
  std::string text;
  for (const Step& step : lowered.schedule.steps) {
    if (!step.copy_reason.empty())
      text += line(2, "copy", fmt::format("{}{}, as {}", where, step.name, step.copy_reason));
    if (!step.region) continue;
    const Region& region = lowered.dispatch.regions[*step.region];
    if (!region.copy_reason.empty()) {
      text +=
          line(2, "copy", fmt::format("{}{} copies its operand first, as {}", where, step.name, region.copy_reason));
    }
    if (step.control == nullptr) continue;
    for (const std::shared_ptr<LoweredGraph>& body : lowered.bodies.at(*step.region)) {
      text += copies_text(*body, fmt::format("{}in {}: ", where, step.name));
    }
  }
  return text;
}

/// Describes the order of the steps, and each copy that remains, with its reason.
std::string schedule_text(const LoweredGraph& lowered, const SymbolValues& symbols) {
  const Schedule& schedule = lowered.schedule;
  const ScheduleStatistics found = measure_schedule(schedule, symbols);
  return fmt::format("schedule: {}, dispatches {}, copies {}, barriers {}, waits {}\n", to_text(found.order),
                     found.num_dispatches, found.num_copies, found.num_barriers, found.num_waits) +
         copies_text(lowered);
}

std::string memory_text(const LoweredGraph& lowered, const SymbolValues& symbols) {
  const Schedule& schedule = lowered.schedule;
  const auto number = [&](const SizeExpr& size) { return size_text(size, symbols); };
  const ScheduleStatistics found = measure_schedule(schedule, symbols);
  std::string text =
      fmt::format("memory: slab of {} bytes, constants of {} bytes\n",
                  found.peak_bytes ? fmt::to_string(*found.peak_bytes) : "at most " + number(schedule.slab_bytes),
                  schedule.constant_bytes);
  if (found.prepared_bytes > 0) {
    text += line(2, "prepared", fmt::format("{} bytes of the constants, computed at load", found.prepared_bytes));
  }
  for (const auto& [name, size_bytes] : lowered.report.unprepared) {
    text += line(2, "unprepared",
                 fmt::format("{} of {} bytes, more than may be kept, so each run computes it", name, size_bytes));
  }
  if (schedule.variable_bytes > 0) text += line(2, "variables", fmt::format("{} bytes", schedule.variable_bytes));
  if (found.lower_bound_bytes) text += line(2, "alive", fmt::format("{} bytes at most", *found.lower_bound_bytes));
  for (const Resource& resource : schedule.resources) {
    if (resource.lifetime != Lifetime::kTransient) continue;
    // If each run places the transients, their offsets depend on sizes that are bound at run time.
    const std::string place = schedule.is_placed_by_runs() ? "" : " at " + number(resource.offset_bytes);
    text += line(2, resource.name,
                 fmt::format("{} bytes{}, alive from @{} to @{}", number(resource.size_bytes), place,
                             resource.first_timepoint, resource.last_timepoint));
  }
  return text;
}

/// The values of the symbols that --dim or the graph's facts determine; after a measured run, of all symbols.
Result<SymbolValues> values_of(const Graph& graph, const Arguments& arguments, const MeasuredSteps* measured) {
  if (measured != nullptr) return measured->symbols();
  MILLRACE_TRY_ASSIGN(const auto known, collect_symbols(graph));
  MILLRACE_TRY_ASSIGN(SymbolValues symbols, parse_dims(known, arguments.inputs.dims));
  symbols.merge(pinned_values(known));
  return symbols;
}

Status explain(const Arguments& arguments) {
  MILLRACE_TRY_ASSIGN(Graph graph, read_graph(arguments.graph));
  const std::shared_ptr<const Context> context = make_context();
  MILLRACE_TRY_ASSIGN(const Target target, find_target(*context, arguments.graph.target));
  std::optional<MeasuredSteps> measured;
  if (arguments.measures) {
    MILLRACE_TRY_ASSIGN(measured, MeasuredSteps::run(graph, arguments.graph, arguments.inputs));
  }
  MeasuredSteps* const times = measured ? &*measured : nullptr;
  MILLRACE_TRY_ASSIGN(const SymbolValues symbols, values_of(graph, arguments, times));
  MILLRACE_TRY_ASSIGN(const LoweredGraph lowered, lower_graph(std::move(graph), arguments.graph, *context));
  const std::size_t count = lowered.dispatch.regions.size();
  const DispatchText text(lowered, symbols, target, times);
  if (!arguments.json.empty()) {
    MILLRACE_TRY(write_text(arguments.json, to_json(measure_schedule(lowered.schedule, symbols)) + "\n"));
  }
  if (arguments.dispatch) {
    if (*arguments.dispatch < count) return write_text("", text.dispatch(RegionId{*arguments.dispatch}));
    return out_of_range(fmt::format("--dispatch {}: the graph has {} dispatch{}, counted from 0; say a lower number",
                                    *arguments.dispatch, count, count == 1 ? "" : "es"));
  }
  std::string all = fmt::format("graph {} for {}: dispatches {}, kernels {}\n", printable(lowered.dispatch.graph.name),
                                target.to_text(), count, lowered.report.num_kernels);
  for (std::uint32_t i = 0; i < count; ++i) all += "\n" + text.dispatch(RegionId{i});
  all += "\n" + text.totals();
  if (target.spec().is_gpu() && !target.spec().is_simulated()) all += "\n" + launch_text(lowered, symbols);
  all += "\n" + schedule_text(lowered, symbols) + "\n" + memory_text(lowered, symbols);
  return write_text("", all);
}

void check_usage(const Arguments& arguments) {
  if (!arguments.inputs.inputs.empty() && !arguments.measures) {
    throw CLI::ValidationError("--input", "is for --measure");
  }
}

}  // namespace

Action add_explain(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  add_graph_file(app, arguments->graph);
  app.add_option("--dispatch", arguments->dispatch, "Explain only this dispatch.")->type_name("N");
  add_inputs(app, arguments->inputs);
  app.add_flag("--measure", arguments->measures,
               "Run the graph, and report each kernel's time and its share of what one thread of this machine\n"
               "reaches. Inputs that --input leaves out are random.");
  app.add_option("--json", arguments->json, "Write the schedule's statistics to FILE, as JSON.")->type_name("FILE");
  add_target(app, arguments->graph, "--target,--device");
  app.callback([arguments] { check_usage(*arguments); });
  return [arguments] { return explain(*arguments); };
}

}  // namespace millrace::tool
