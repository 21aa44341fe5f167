// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "hal/host/routines/row_loader.h"
#include "jit/lanes/load_microkernels.h"
#include "jit/xbyak/row_plan.h"

namespace millrace {

/// How a routine computes rows from a load's operands: the contents of RowLoadParameters, and the expressions of
/// RowLoadSizes.
struct RowLoad {
  ComputedElements elements;
  std::vector<std::uint32_t> buffers;  // by source
  std::size_t num_operands = 0, num_dims = 0;
  std::vector<SizeExpr> sizes;

  /// Everything that the code and the parameters depend on.
  std::string key_text() const;
  /// Appends the function. The load's size arguments begin at index `first_size`.
  RowLoadParameters append(const MicrokernelSink&, std::size_t first_size) const;
};

/// Plans the load; rows are along `axis` of its result. Refuses a body that lanes cannot compute, and operands that are
/// not contiguous along the axis.
Result<RowLoad> plan_row_load(const LoopKernel& load, std::uint32_t axis, IsaLevel);

/// Replaces the planned kernel's first buffer, which is its input, by the operands of the load. Appends the load's
/// sizes.
void add_row_load(PlannedKernel&, const RowLoad&);

}  // namespace millrace
