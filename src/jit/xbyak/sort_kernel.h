// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hal/host/routines/sort_rows.h"
#include "jit/xbyak/lane_assembler.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/sort_descriptor.h"

namespace millrace {

/// Plans a sort as calls of the routine sort_rows with microkernels for its keys. Refuses what the lanes do not
/// hold.
Result<PlannedKernel> plan_rows_work(const SortDescriptor&, const TargetSpec&);

/// Refuses what the lanes do not hold.
Status check_lanes_sort(const SortDescriptor&, const TargetSpec&);

/// See SortRowsSizes.
std::vector<SizeExpr> size_arguments_of(const SortDescriptor&);

/// What decides how results are written, beyond their being wanted, for cache keys.
std::string results_text(const SortDescriptor&);

/// The functions of a sort, by what they do.
struct SortFunctions {
  bool keys = false, splits = false, sorter = false, results = false, runs = false;
};
/// Emits functions, for parts of any length. The others have no offset.
SortRowsParameters emit_sort_functions(const SortDescriptor&, const TargetSpec&, const SortFunctions&, LaneAssembler&);

}  // namespace millrace
