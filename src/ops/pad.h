// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "millrace/ops/op_def.h"

namespace millrace {

/// Requests that store the padding around the operand, whose elements are already in the result. They read nothing.
/// Empty if the pad certainly adds nothing.
Result<std::vector<KernelRequest>> build_pad_borders(const OpInstance&);

}  // namespace millrace
