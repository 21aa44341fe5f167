// SPDX-License-Identifier: Apache-2.0
#include "tools/millrace/step_cost.h"

namespace millrace::tool {

StepCost cost_of(const Step& step, const SymbolValues& symbols) {
  const Result<std::int64_t> groups = step.num_groups.evaluate(symbols);
  if (groups.ok() && *groups == 0) return {};  // another algorithm's: these sizes do not need it
  return {step.bytes_read, step.bytes_written, step.kernel ? step.flops : SizeExpr(0)};
}

std::vector<const Step*> steps_of_commands(const LoweredGraph& lowered) {
  std::vector<const Step*> steps;
  auto step = lowered.schedule.steps.begin();
  for (const Command& command : lowered.commands.commands) {
    steps.push_back(std::holds_alternative<BarrierCommand>(command) ? nullptr : &*step++);
    for (const CommandBlock* block : blocks_of(command)) {
      steps.resize(visit_commands(block->commands, [](std::size_t, const Command&) {}, steps.size()));
    }
  }
  return steps;
}

}  // namespace millrace::tool
