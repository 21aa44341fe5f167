// SPDX-License-Identifier: Apache-2.0
// The cost of steps, for explain, bench and traces.
#include "tools/millrace/step_cost.h"

namespace millrace::tool {

StepCost cost_of(const Step& step, const SymbolValues& symbols) {
  const Result<std::int64_t> groups = step.num_groups.evaluate(symbols);
  if (groups.ok() && *groups == 0) return {};  // not launched: another algorithm's kernel handles these sizes
  return {step.bytes_read, step.bytes_written, step.kernel ? step.flops : SizeExpr(0)};
}

IdVector<CommandId, const Step*> steps_of_commands(const LoweredGraph& lowered) {
  IdVector<CommandId, const Step*> steps;
  for (const CommandOrigin& origin : find_origins(lowered)) steps.push_back(origin.around ? nullptr : origin.step);
  return steps;
}

}  // namespace millrace::tool
