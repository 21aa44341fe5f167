// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/graph/compile_report.h"
#include "millrace/graph/graph.h"
#include "millrace/graph/passes.h"
#include "millrace/graph/program.h"
#include "millrace/graph/schedule.h"

namespace millrace {

/// A graph lowered for one target down to its commands, as data: everything except the code.
struct LoweredGraph {
  DispatchGraph dispatch;                              // made from the graph after the passes
  std::vector<std::vector<KernelSequence>> sequences;  // one row per region
  Schedule schedule;
  /// The bodies of loops and conditions. Their commands are in the blocks of this graph's commands.
  std::map<RegionId, std::vector<std::shared_ptr<LoweredGraph>>> bodies;
  std::shared_ptr<LoweredGraph> setup = {};  // computes the prepared constants; null if there are none
  CommandList commands;                      // the schedule's steps in their order, and barriers
  CompileReport report;                      // without the phases `code` and `load`
};

/// Where a command comes from.
struct CommandOrigin {
  const LoweredGraph* graph = nullptr;  // the graph whose schedule has the step: the given one, or a body
  const Step* step = nullptr;           // null: a barrier
  std::optional<CommandId> around;      // the loop or the condition that holds the command
};
/// One entry per command, those in blocks included. The pointers are valid as long as the graph.
IdVector<CommandId, CommandOrigin> find_origins(const LoweredGraph&);

/// Does what compile() does before it needs a device, so that the result can be inspected, even for targets that this
/// host cannot run.
/// Precondition: verify(graph) passed.
Result<LoweredGraph> lower_graph(Graph graph, const Target&, const LowerOptions& = {}, const PassOptions& = {},
                                 ScheduleOrder = ScheduleOrder::kMaxConcurrency);
/// Returns one result per target, in the order of the targets. Passes and regions are shared; all regions are lowered
/// for all targets before anything is scheduled.
Result<std::vector<LoweredGraph>> lower_graph(Graph graph, std::span<const Target>, const LowerOptions& = {},
                                              const PassOptions& = {}, ScheduleOrder = ScheduleOrder::kMaxConcurrency);
/// Prints the result of one stage.
std::string to_text(const LoweredGraph&, Stage);

}  // namespace millrace
