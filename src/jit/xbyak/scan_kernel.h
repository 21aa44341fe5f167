// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/scan_descriptor.h"

namespace millrace {

/// Plans a scan along contiguous rows as calls of the routine scan_rows. Refuses other rows.
Result<PlannedKernel> plan_rows_work(const ScanDescriptor&, const TargetSpec&);

}  // namespace millrace
