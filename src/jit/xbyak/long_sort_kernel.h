// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/hal/executable.h"
#include "millrace/jit/kernel_compiler.h"

namespace millrace {

/// Plans a step of a long sort: a routine of src/hal/host/routines/long_sort.h with microkernels.
Result<PlannedKernel> plan_long_sort(const LongSortKernel&, const TargetSpec&);
Result<ExecutableImage> emit_long_sort(const LongSortKernel&, const TargetSpec&);

}  // namespace millrace
