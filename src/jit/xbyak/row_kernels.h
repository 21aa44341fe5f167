// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/algorithms/row_operation.h"

namespace millrace {

// Plans of work along rows, as calls of compiled routines (src/hal/host/routines) with microkernels. Each function
// refuses dtypes and rows that lanes or the routine do not support.

/// A sort or TopK by the routine sort_rows or topk_rows.
Result<PlannedKernel> plan_row_operation(const SortDescriptor&, const TargetSpec&);
/// A step of a sort of long rows, by a routine of long_sort.h.
Result<PlannedKernel> plan_row_operation(const LongSortKernel&, const TargetSpec&);
/// A scan along contiguous rows, by the routine scan_rows.
Result<PlannedKernel> plan_row_operation(const ScanDescriptor&, const TargetSpec&);
/// An argmax or argmin along contiguous rows, by the routine arg_rows.
Result<PlannedKernel> plan_row_operation(const ArgDescriptor&, const TargetSpec&);

}  // namespace millrace
