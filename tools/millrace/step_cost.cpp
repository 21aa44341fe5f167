// SPDX-License-Identifier: Apache-2.0
#include "tools/millrace/step_cost.h"

namespace millrace::tool {

StepCost cost_of(const Step& step) {
  StepCost cost;
  for (std::size_t i = 0; i < step.ranges.size(); ++i) {
    SizeExpr& bytes = step.writes[i] ? cost.bytes_written : cost.bytes_read;
    bytes = bytes + step.ranges[i].length_bytes;
  }
  if (step.kernel) cost.flops = step.flops;
  return cost;
}

}  // namespace millrace::tool
