// SPDX-License-Identifier: Apache-2.0
// Lowers a graph for targets, down to commands: passes -> regions -> kernels -> schedule -> commands.
#include <fmt/format.h>

#include "base/guard_allocations.h"
#include "graph/dispatch/lower_region.h"
#include "graph/run/phase_timer.h"
#include "graph/stream/verify_schedule.h"
#include "millrace/graph/compile_report.h"
#include "millrace/graph/lowered_graph.h"
#include "millrace/graph/text.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/share_kernels.h"

namespace millrace {
namespace {

/// Lowers the regions of a graph and of its bodies.
Status lower_regions(LoweredGraph& lowered, RequestMemo& memo) {
  for (std::uint32_t i = 0; i < lowered.dispatch.regions.size(); ++i) {
    const auto where = [&] {
      return fmt::format("lower: {}",
                         caller_text(lowered.dispatch.graph, lowered.dispatch.regions[RegionId{i}].nodes.back()));
    };
    MILLRACE_TRY_ASSIGN(std::vector<KernelSequence> sequences,
                        guard_allocations(where, [&] { return lower_region(lowered.dispatch, RegionId{i}, memo); }));
    lowered.sequences.push_back(std::move(sequences));
    for (std::shared_ptr<const DispatchGraph>& body : lowered.dispatch.regions[RegionId{i}].bodies) {
      auto inner = std::make_shared<LoweredGraph>();
      inner->dispatch = *body;
      body = {inner, &inner->dispatch};
      MILLRACE_TRY(lower_regions(*inner, memo));
      lowered.bodies[RegionId{i}].push_back(std::move(inner));
    }
  }
  return {};
}

Status verify_kernels(const LoweredGraph& lowered, const Target& target) {
  for (const auto& [region, bodies] : lowered.bodies) {
    for (const std::shared_ptr<LoweredGraph>& body : bodies) MILLRACE_TRY(verify_kernels(*body, target));
  }
  return verify(lowered.dispatch, lowered.sequences, target);
}

void collect_kernels(LoweredGraph& lowered, std::vector<PlannedKernel*>& kernels) {
  for (std::vector<KernelSequence>& sequences : lowered.sequences) {
    for (KernelSequence& sequence : sequences) {
      for (SequenceKernel& entry : sequence.kernels) kernels.push_back(&entry.kernel);
    }
  }
  for (auto& [region, bodies] : lowered.bodies) {
    for (const std::shared_ptr<LoweredGraph>& body : bodies) collect_kernels(*body, kernels);
  }
}

Status lower_to_kernels(LoweredGraph& lowered, const Target& target, const LowerOptions& options) {
  RequestMemo memo(target, options);
  MILLRACE_TRY(lower_regions(lowered, memo));
  std::vector<PlannedKernel*> kernels;
  collect_kernels(lowered, kernels);
  share_kernels(kernels, target);
  return verify_kernels(lowered, target);
}

/// Schedules one graph for all targets, bodies first. Each schedule has the constants of all targets, so that the
/// layout of the constants is the same for every target.
Status schedule_sequences(std::span<LoweredGraph* const> all, ScheduleOrder order) {
  for (const auto& [region, bodies] : all.front()->bodies) {
    for (std::size_t k = 0; k < bodies.size(); ++k) {
      std::vector<LoweredGraph*> of_targets;
      for (LoweredGraph* lowered : all) of_targets.push_back(lowered->bodies.at(region)[k].get());
      MILLRACE_TRY(schedule_sequences(of_targets, order));
    }
  }
  std::set<Value> constants;
  for (const LoweredGraph* lowered : all) constants.merge(find_read_constants(lowered->dispatch, lowered->sequences));
  for (LoweredGraph* lowered : all) {
    const PhaseTimer timer(lowered->report.scheduling);
    ScheduledBodies scheduled;
    for (const auto& [region, bodies] : lowered->bodies) {
      for (const std::shared_ptr<LoweredGraph>& body : bodies) scheduled[region].emplace_back(body, &body->schedule);
    }
    const auto schedule_by = [&](ScheduleOrder chosen) -> Status {
      MILLRACE_TRY_ASSIGN(lowered->schedule,
                          schedule_execution(lowered->dispatch, lowered->sequences, constants, scheduled));
      MILLRACE_TRY(arrange_steps(lowered->schedule, chosen));
      return verify(lowered->schedule, ScheduleBodies::kAreVerified);
    };
    const Status status = unguarded(schedule_by(order));
    // With symbolic sizes, it may be impossible to prove that concurrent steps touch different bytes. The graph's order
    // with all barriers needs no such proof.
    if (!status.ok() && order != ScheduleOrder::kStrict) {
      MILLRACE_TRY(schedule_by(ScheduleOrder::kStrict));
    } else {
      MILLRACE_TRY(status);
    }
  }
  return {};
}

void count_parts(LoweredGraph& lowered) {
  CompileReport& report = lowered.report;
  report.num_regions = lowered.dispatch.regions.size();
  report.num_kernels = lowered.schedule.kernels.size();
  visit_commands(lowered.commands, [&](CommandId, const Command& command) {
    report.num_dispatches += std::holds_alternative<DispatchCommand>(command) ? 1 : 0;
  });
  report.slab_bytes = lowered.schedule.slab_bytes;
  report.constant_bytes = static_cast<std::uint64_t>(lowered.schedule.constant_bytes);
  for (const Resource& resource : lowered.schedule.resources) {
    if (resource.prepared) report.prepared_bytes += static_cast<std::uint64_t>(resource.size_bytes.constant());
  }
  report.variable_bytes = static_cast<std::uint64_t>(lowered.schedule.variable_bytes);
}

std::string kernels_text(const LoweredGraph& lowered) {
  std::string text;
  for (const auto& sequences : lowered.sequences) {
    for (const KernelSequence& sequence : sequences) text += to_text(sequence);
  }
  for (const auto& [region, bodies] : lowered.bodies) {
    for (const std::shared_ptr<LoweredGraph>& body : bodies) text += kernels_text(*body);
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

/// The settings for lowering a graph after its passes.
struct Lowering {
  std::span<const Target> targets;
  const LowerOptions& options;
  ScheduleOrder order;
};

/// Lowers one graph for all targets, without a setup: `prepared` gets the constants that the setup must compute.
Result<std::vector<LoweredGraph>> lower_alone(Graph graph, const Lowering& how, const PassOptions& passes,
                                              PreparedConstants* prepared) {
  LoweredGraph common;
  {
    const PhaseTimer timer(common.report.passes);
    MILLRACE_TRY_ASSIGN(common.report.pass_reports, run_passes(graph, kGraphPasses, passes, prepared));
    if (prepared != nullptr) common.report.unprepared = prepared->unprepared;
  }
  {
    const PhaseTimer timer(common.report.forming);
    MILLRACE_TRY_ASSIGN(common.dispatch, form_dispatches(std::move(graph)));
  }
  std::vector<LoweredGraph> all(how.targets.size() - 1, common);
  all.push_back(std::move(common));
  for (std::size_t i = 0; i < how.targets.size(); ++i) {
    const PhaseTimer timer(all[i].report.lowering);
    MILLRACE_TRY(lower_to_kernels(all[i], how.targets[i], how.options));
  }
  std::vector<LoweredGraph*> of_targets;
  for (LoweredGraph& lowered : all) of_targets.push_back(&lowered);
  MILLRACE_TRY(schedule_sequences(of_targets, how.order));
  for (LoweredGraph& lowered : all) {
    {
      const PhaseTimer timer(lowered.report.scheduling);
      MILLRACE_TRY_ASSIGN(lowered.commands, record_commands(lowered.schedule));
    }
    count_parts(lowered);
  }
  return all;
}

}  // namespace

Result<std::vector<LoweredGraph>> lower_graph(Graph graph, std::span<const Target> targets, const LowerOptions& options,
                                              const PassOptions& passes, ScheduleOrder order) {
  return guard_allocations([&]() -> Result<std::vector<LoweredGraph>> {
    if (targets.empty()) return invalid_argument("lower: no target given, expected one or more");
    const Lowering how{targets, options, order};
    PreparedConstants prepared;
    MILLRACE_TRY_ASSIGN(std::vector<LoweredGraph> all, lower_alone(std::move(graph), how, passes, &prepared));
    if (!prepared.setup) return all;
    // The passes run on the setup too, because it may contain equal work from two bodies, which they merge.
    const PassOptions of_setup{.verify_each = passes.verify_each};
    MILLRACE_TRY_ASSIGN(std::vector<LoweredGraph> setups,
                        lower_alone(*std::move(prepared.setup), how, of_setup, nullptr));
    for (std::size_t i = 0; i < all.size(); ++i) all[i].setup = std::make_shared<LoweredGraph>(std::move(setups[i]));
    return all;
  });
}

Result<LoweredGraph> lower_graph(Graph graph, const Target& target, const LowerOptions& options,
                                 const PassOptions& passes, ScheduleOrder order) {
  return guard_allocations([&]() -> Result<LoweredGraph> {
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
