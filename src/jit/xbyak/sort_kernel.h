// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// Plans a sort as calls of the routine sort_rows with generated functions for its keys. Refuses what the lanes do not
/// hold.
Result<PlannedKernel> plan_sort(const SortDescriptor&, const TargetSpec&);

/// Emits the functions and sets the routine's parameters.
Result<ExecutableImage> emit_sort(const SortDescriptor&, const TargetSpec&);

}  // namespace millrace
