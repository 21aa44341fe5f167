// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "hal/host/routines/row_loader.h"
#include "jit/lanes/load_microkernels.h"
#include "jit/xbyak/row_plan.h"

namespace millrace {

/// How a routine computes rows from a load's operands: what RowLoadParameters says of the image, and RowLoadSizes of a
/// run.
struct RowLoad {
  ComputedElements elements;
  std::vector<std::uint32_t> buffers;  // by source
  std::size_t num_operands = 0, num_dims = 0;
  std::vector<SizeExpr> sizes;

  /// All that the code and the parameters depend on.
  std::string key_text() const;
  /// Appends the function. The size arguments begin at `first_size`.
  RowLoadParameters append(const MicrokernelSink&, std::size_t first_size) const;
};

/// Rows are along `axis` of the load's result. Refuses a body that lanes cannot compute, and operands whose elements
/// are apart along the axis.
Result<RowLoad> plan_row_load(const LoopKernel& load, std::uint32_t axis, IsaLevel);

/// Makes the operands of a planned kernel's load its first buffers instead of the input, and appends its sizes.
void add_row_load(PlannedKernel&, const RowLoad&);

}  // namespace millrace
