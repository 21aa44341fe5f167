// SPDX-License-Identifier: Apache-2.0
// Graph -> passes -> regions -> kernels -> schedule -> commands.
#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/run/phase_timer.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/text.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/share_kernels.h"

namespace millrace {
namespace {

Status lower_regions(LoweredGraph& lowered, const Target& target, const LowerOptions& options) {
  for (std::uint32_t i = 0; i < lowered.dispatch.regions.size(); ++i) {
    const auto where = [&] {
      return fmt::format("lower: {}",
                         node_text(lowered.dispatch.graph, lowered.dispatch.regions[RegionId{i}].nodes.back()));
    };
    MILLRACE_TRY_ASSIGN(std::vector<KernelSequence> sequences, guard_allocations(where, [&] {
                          return lower_region(lowered.dispatch, RegionId{i}, target, options);
                        }));
    lowered.sequences.push_back(std::move(sequences));
  }
  std::vector<PlannedKernel*> kernels;
  for (std::vector<KernelSequence>& sequences : lowered.sequences) {
    for (KernelSequence& sequence : sequences) {
      for (SequenceKernel& entry : sequence.kernels) kernels.push_back(&entry.kernel);
    }
  }
  share_kernels(kernels, target);
  return verify(lowered.dispatch, lowered.sequences, target);
}

Status schedule_sequences(LoweredGraph& lowered, const std::set<Value>& constants, ScheduleOrder order) {
  MILLRACE_TRY_ASSIGN(lowered.schedule, schedule_execution(lowered.dispatch, lowered.sequences, constants));
  MILLRACE_TRY(arrange_steps(lowered.schedule, order));
  MILLRACE_TRY(verify(lowered.schedule));
  MILLRACE_TRY_ASSIGN(lowered.commands, record_commands(lowered.schedule));
  return {};
}

void count_parts(LoweredGraph& lowered) {
  CompileReport& report = lowered.report;
  report.num_regions = lowered.dispatch.regions.size();
  report.num_kernels = lowered.schedule.kernels.size();
  for (const Command& command : lowered.commands.commands) {
    report.num_dispatches += std::holds_alternative<DispatchCommand>(command) ? 1 : 0;
  }
  report.slab_bytes = lowered.schedule.slab_bytes;
  report.constant_bytes = static_cast<std::uint64_t>(lowered.schedule.constant_bytes);
  report.variable_bytes = static_cast<std::uint64_t>(lowered.schedule.variable_bytes);
}

std::string kernels_text(const LoweredGraph& lowered) {
  std::string text;
  for (const auto& sequences : lowered.sequences) {
    for (const KernelSequence& sequence : sequences) text += to_text(sequence);
  }
  return text;
}

std::string plan_text(const LoweredGraph& lowered) {
  std::string text = memory_plan_text(lowered.schedule);
  for (const PlannedKernel& kernel : lowered.schedule.kernels) {
    if (kernel.memory.slots.empty()) continue;
    text += fmt::format("kernel {}\n{}", kernel.name, to_text(kernel.memory));
  }
  return text;
}

}  // namespace

Result<std::vector<LoweredGraph>> lower_graph(Graph graph, std::span<const Target> targets, const LowerOptions& options,
                                              const PassOptions& passes, ScheduleOrder order) {
  return guard_allocations("lower", [&]() -> Result<std::vector<LoweredGraph>> {
    if (targets.empty()) return invalid_argument("lower: no target given, expected one or more");
    LoweredGraph common;
    {
      const PhaseTimer timer(common.report.passes);
      MILLRACE_TRY_ASSIGN(common.report.pass_reports, run_passes(graph, kGraphPasses, passes));
    }
    {
      const PhaseTimer timer(common.report.forming);
      MILLRACE_TRY_ASSIGN(common.dispatch, form_dispatches(std::move(graph)));
    }
    std::vector<LoweredGraph> all(targets.size() - 1, common);
    all.push_back(std::move(common));
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const PhaseTimer timer(all[i].report.lowering);
      MILLRACE_TRY(lower_regions(all[i], targets[i], options));
    }
    std::set<Value> constants;
    for (const LoweredGraph& lowered : all) constants.merge(find_read_constants(lowered.dispatch, lowered.sequences));
    for (LoweredGraph& lowered : all) {
      {
        const PhaseTimer timer(lowered.report.scheduling);
        MILLRACE_TRY(schedule_sequences(lowered, constants, order));
      }
      count_parts(lowered);
    }
    return all;
  });
}

Result<LoweredGraph> lower_graph(Graph graph, const Target& target, const LowerOptions& options,
                                 const PassOptions& passes, ScheduleOrder order) {
  return guard_allocations("lower", [&]() -> Result<LoweredGraph> {
    MILLRACE_TRY_ASSIGN(std::vector<LoweredGraph> all,
                        lower_graph(std::move(graph), std::span(&target, 1), options, passes, order));
    return std::move(all.front());
  });
}

std::string to_text(const LoweredGraph& lowered, Stage stage) {
  switch (stage) {
    case Stage::kGraph:
      return to_text(lowered.dispatch.graph, {.large = LargeConstants::kShortened});
    case Stage::kDispatch:
      return to_text(lowered.dispatch);
    case Stage::kKernels:
      return kernels_text(lowered);
    case Stage::kPlan:
      return plan_text(lowered);
    case Stage::kSchedule:
      return to_text(lowered.schedule);
    case Stage::kCommands:
      return to_text(lowered.commands);
  }
  return {};
}

}  // namespace millrace
