// SPDX-License-Identifier: Apache-2.0
#include "tools/millrace/step_cost.h"

namespace millrace::tool {

StepCost cost_of(const Schedule& schedule, const Step& step) {
  StepCost cost;
  for (const ResourceUse& use : step.uses) {
    SizeExpr& bytes = use.is_written ? cost.bytes_written : cost.bytes_read;
    bytes = bytes + schedule.touched_bytes(use).length_bytes;
  }
  if (step.kernel) cost.flops = step.flops;
  return cost;
}

}  // namespace millrace::tool
