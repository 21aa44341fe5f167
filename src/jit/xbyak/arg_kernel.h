// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/arg_descriptor.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// Plans an argmax or argmin along contiguous rows as calls of the routine arg_rows.
Result<PlannedKernel> plan_rows_work(const ArgDescriptor&, const TargetSpec&);

}  // namespace millrace
