// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "millrace/hal/command_list.h"
#include "millrace/hal/executable.h"
#include "millrace/hal/target_spec.h"

namespace millrace {

struct CompileReport;   // compile_report.h
struct LoweredGraph;    // lowered_graph.h
struct RunDiagnostics;  // what error messages of runs need; private
struct SlabPlan;        // how runs place transients; private

/// A program for one of its targets. The target decides how many kernels a region becomes and how much scratch they
/// need, so each variant has its own schedule, commands, memory plan and code. A run needs neither the graph nor the
/// kernels' IR. The constants' bytes are on the device, not here.
struct ProgramVariant {
  TargetSpec target;
  std::vector<ExecutableImage> images;  // one per kernel of the commands
  std::shared_ptr<const CommandList> commands;
  std::shared_ptr<const CompileReport> report;
  std::shared_ptr<const RunDiagnostics> diagnostics;
  std::shared_ptr<const SlabPlan> slab_plan = {};  // null: the slab is one binding
  std::shared_ptr<const LoweredGraph> lowered;     // how it was compiled, for people; large constants are shortened
};

}  // namespace millrace
