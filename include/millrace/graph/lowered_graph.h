// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/graph/compile_report.h"
#include "millrace/graph/program.h"
#include "millrace/graph/schedule.h"

namespace millrace {

/// A graph on its way to a program, down to the commands for one target, as data: all but code.
struct LoweredGraph {
  DispatchGraph dispatch;                              // of the graph after the passes
  std::vector<std::vector<KernelSequence>> sequences;  // a row per region
  Schedule schedule;
  CommandList commands;  // the schedule's steps in their order, and barriers
  CompileReport report;  // so far
};

/// What compile() does before it needs a device, for whoever wants to look, also at targets that the host cannot run.
/// Precondition: verify(graph) passed.
Result<LoweredGraph> lower_graph(Graph graph, const Target&, const LowerOptions& = {}, const PassOptions& = {});
/// In the targets' order. They share passes and regions; every region has its kernels for every target before anything
/// is scheduled.
Result<std::vector<LoweredGraph>> lower_graph(Graph graph, std::span<const Target>, const LowerOptions& = {},
                                              const PassOptions& = {});
/// Every level can be printed.
std::string to_text(const LoweredGraph&, Stage);

/// A program for one of its targets. How many kernels a region becomes, and which scratch is between them, is the
/// target's to decide, so each has a schedule, commands and a memory plan of its own beside its code.
struct ProgramVariant {
  TargetSpec target;
  LoweredGraph lowered;
  std::vector<ExecutableImage> images;  // one per kernel of the schedule
};

}  // namespace millrace
