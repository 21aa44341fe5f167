// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// Plans a scan along contiguous rows as calls of the routine scan_rows. Refuses other rows.
Result<PlannedKernel> plan_scan(const ScanDescriptor&, const TargetSpec&);

/// Emits the function and sets the routine's parameters.
Result<ExecutableImage> emit_scan(const ScanDescriptor&, const TargetSpec&);

}  // namespace millrace
