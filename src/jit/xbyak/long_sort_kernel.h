// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/algorithms/rows_work.h"

namespace millrace {

/// Plans a step of a long sort: a routine of src/hal/host/routines/long_sort.h with microkernels.
Result<PlannedKernel> plan_rows_work(const LongSortKernel&, const TargetSpec&);

}  // namespace millrace
